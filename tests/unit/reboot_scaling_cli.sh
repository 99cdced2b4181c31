#!/bin/bash
# filesystem-scaling with cycle reboot: what each leg measures and carries over. As in reboot_cli.sh nothing is
# restarted; the restarted machine is tests/systemd/reboot.sh.
# reboot_scaling_cli.sh RUNNER LOGIN-MANAGER
. "$(dirname "$(readlink -f "$0")")/reboots.sh"

params='{"filesystems": 25, "batch": 5, "cycle": "reboot", "cycle_every": 2, "reboot_within": 600}'
of_phase() { # PHASE FILTER, over its records
    records "select(.phase == \"$1\") | $2"
}
samples() { # PHASE MEMBER, of all its samples
    records "select(.record == \"samples\" and .phase == \"$1\").$2[]"
}
# Changes the journal's last line, and its checksum with it.
reword() { # SED-COMMAND
    local line
    line=$(tail -n 1 job/journal.ndjson | sed -e 's/,"crc":"[0-9a-f]*"}$//' -e "$1")
    sed -i '$d' job/journal.ndjson
    printf '%s,"crc":"%s"}\n' "$line" "$(printf %s "$line" | gzip -c | tail -c 8 | head -c 4 | od -An -tx4 --endian=little | tr -d ' ')" >>job/journal.ndjson
}

settings yes
spec_of filesystem-scaling "$params"
run
is 'a leg of two batches' $? 5
is 'one restart' "$(<called)" reboot
is 'what was made by then' "$(left | wc -w)" 10
is 'what the record says' "$(records 'select(.record == "reboot") | "\(.batch) \(.within_ns) \(.boot_id)"')" \
    "2 600000000000 $(</proc/sys/kernel/random/boot_id)"
is 'the state of its clock' "$(records 'select(.record == "reboot") | .clock | IN("synchronised", "unsynchronised", "unknown")')" true

if unshare --mount true 2>/dev/null; then
    after_boot 1
    is 'the second leg' $? 5
    is 'it was restarted once more' "$(wc -l <called)" 2
    is 'what was made by then' "$(left | wc -w)" 20
    after_boot 2
    is 'the third leg' $? 0
    is 'which restarts nothing: the last batch has no second one' "$(wc -l <called)" 2
    is 'phases of each leg' "$(records 'select(.record == "phase") | "\(.leg):\(.phase)" | select(test("kernel") | not)')" \
        '1:create 2:cycle 2:cycle-daemon 2:create 3:cycle 3:cycle-daemon 3:create 3:list 3:destroy'
    is 'operations' "$(of_phase create 'select(.record == "phase_end").ops')" '10 10 5'
    is 'of a whole' "$(of_phase create 'select(.record == "phase").total')" '25 25 25'
    is 'the load goes on' "$(samples create load)" '5 10 15 20 25'
    is 'cycles are measured at their load' "$(samples cycle load) $(of_phase cycle 'select(.record == "phase") | "\(.unit) \(.at_load)"')" \
        '10 20 filesystems true filesystems true'
    is 'each took some time' "$(samples cycle 'elapsed[] | . > 0 | [.]')" 'true true'
    is 'the daemon is up before all is in place' "$(records 'select(.record == "boot") | .daemon <= .all')" 'true true'
    is 'nothing had to be brought back' "$(records 'select(.record == "boot") | "\(.load) \(.brought_back)"')" '10 0 20 0'
    is 'batches that the machine was restarted for' "$(records 'select(.record == "reboot").batch')" '2 4'
    is 'the end' "$(records 'select(.record == "end") | "\(.outcome) \(.leg)"')" 'succeeded 3'
    is 'listed and destroyed' "$(of_phase list 'select(.record == "phase_end").ops') $(of_phase destroy 'select(.record == "phase_end").ops')" '25 25'
    is 'nothing is left' "$(ls -A target)" ''

    # A machine that was restarted for this batch is not restarted for it again, whatever the state says.
    nothing_called
    spec_of filesystem-scaling '{"filesystems": 10, "batch": 5, "cycle": "reboot"}'
    run
    is 'the first batch' $? 5
    reword 's/"batch":1,/"batch":2,/'
    after_boot 1
    is 'the second one, which the journal says it was restarted for' $? 1
    is 'no second restart' "$(wc -l <called)" 1
    is 'which is told' "$(records 'select(.record == "end").problem.message')" 'the machine has been restarted for batch 2 already'
    is 'nothing is left of that' "$(ls -A target)" ''

    # One of the filesystems did not come back.
    nothing_called
    spec_of filesystem-scaling '{"filesystems": 10, "batch": 5, "cycle": "reboot"}'
    run
    rmdir target/plimsoll-*/f0000000003
    after_boot 1
    is 'with one that is gone' $? 1
    is 'which is told' "$(records 'select(.record == "end").problem.message')" \
        'after the reboot the system shows 4 filesystems where 5 were created'
    is 'no second restart' "$(wc -l <called)" 1
    is 'nothing is left of them' "$(ls -A target)" ''
else
    echo 'no mount namespaces here: the legs after a reboot are not tested'
    rm -rf target/*
fi

# Deadlines count all legs.
nothing_called
spec_of filesystem-scaling '{"filesystems": 10, "batch": 5, "cycle": "reboot", "max_seconds": 0.000001}'
run
is 'a phase whose time is over' $? 0
is 'ends the job without a restart' "$(cat called 2>/dev/null)$(records 'select(.record == "limit" and .phase == "create").reason')" deadline

spec_of filesystem-scaling '{"filesystems": 10, "batch": 5, "cycle": "reboot", "operations": ["create", "destroy"]}'
run
is 'without the operation cycle' $? 0
spec_of filesystem-scaling '{"filesystems": 10, "batch": 5, "cycle": "reboot", "stop_when_slower_than": 3}'
run
is 'with what cannot be compared' $? 2
is 'which is told' "$(records 'select(.record == "end").problem.field')" /params/stop_when_slower_than
is 'none of these restarts' "$(cat called 2>/dev/null)" ''

settings no
spec_of filesystem-scaling "$params"
run
is 'a target that does not allow it' $? 1
is 'which is told' "$(records 'select(.record == "end").problem | .code + " " + .field')" 'forbidden /params/cycle'
"$runner" run filesystem-scaling --on target filesystems=10 batch=5 cycle=reboot >/dev/null 2>said
is 'by hand' $? 1
grep -q 'a run by hand cannot' said || fail "by hand it said: $(<said)"
is 'none of these made anything' "$(ls -A target)" ''
is 'or restarted' "$(cat called 2>/dev/null)" ''

[[ $failed == 0 ]] && echo 'as it was told'
exit $failed
