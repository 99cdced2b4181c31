#!/bin/bash
# A run that restarts the machine: what the runner records before, and how it goes on after. The login manager
# restarts nothing here, and another boot is another boot id in a mount namespace of its own.
# reboot_cli.sh RUNNER LOGIN-MANAGER
. "$(dirname "$(readlink -f "$0")")/reboots.sh"

spec() { # REBOOTS [MORE MEMBERS]
    spec_of rebooting "{\"reboots\": $1}" "${2:-}"
}

settings yes
nothing_called
spec 2
run
is 'a leg that ends in a reboot' $? 5
is 'it was asked for' "$(<called)" reboot
is 'its records' "$(records '.record | select(. != "host")')" 'begin phase samples phase_end reboot'
is 'what it tells the next leg' "$(records 'select(.record == "reboot").state')" 1
is 'what it made stays' "$(left)" f0000000000

before=$(md5sum <job/journal.ndjson)
run
is 'in the same boot nothing goes on' $? 1
is 'and nothing is recorded' "$(md5sum <job/journal.ndjson)" "$before"
is 'nor restarted again' "$(<called)" reboot
grep -q 'no reboot that has come to pass' said || fail "it said: $(<said)"

if unshare --mount true 2>/dev/null; then
    after_boot 1
    is 'the second leg' $? 5
    is 'both files' "$(left)" 'f0000000000 f0000000001'
    after_boot 1
    is 'a second time in that boot' $? 1
    after_boot 2
    is 'the third leg' $? 0
    is 'legs' "$(records 'select(.record == "begin") | "\(.run).\(.leg)"')" '1.1 1.2 1.3'
    is 'the end' "$(records 'select(.record == "end") | "\(.outcome) \(.leg)"')" 'succeeded 3'
    is 'sequence numbers' "$(records '.seq')" "$(seq -s' ' "$(wc -l <job/journal.ndjson)")"
    is 'nothing is left' "$(ls -A target)" ''
    is 'restarted' "$(wc -l <called)" 2
    after_boot 3
    is 'after the end nothing goes on' $? 1

    # Of two runs, each with a reboot of its own.
    nothing_called
    spec 1 ', "repeat": 2'
    run
    after_boot 1
    is 'the second run begins in that boot, and restarts it' $? 5
    after_boot 2
    is 'the second run ends' $? 0
    is 'legs of both runs' "$(records 'select(.record == "begin") | "\(.run).\(.leg)"')" '1.1 1.2 2.1 2.2'
    is 'nothing is left of them' "$(ls -A target)" ''

    # Cancelled meanwhile: the service has it cleaned up instead.
    nothing_called
    spec 1
    run
    "$runner" clean job/spec.json --settings settings 2>said
    is 'a clean-up between two legs' $? 0
    is 'leaves nothing' "$(ls -A target)" ''
    after_boot 1
    is 'after which nothing goes on' $? 1

    # Another job's journal says nothing about this one.
    nothing_called
    spec 1
    run
    sed -i 's/"job": 7/"job": 8/' job/spec.json
    after_boot 1
    is 'with the journal of another job' $? 1
    grep -q 'no reboot that has come to pass' said || fail "with another's journal it said: $(<said)"
    sed -i 's/"job": 8/"job": 7/' job/spec.json
    "$runner" clean job/spec.json --settings settings 2>said

    # The run directory is gone.
    nothing_called
    spec 1
    run
    rm -r target/plimsoll-*
    after_boot 1
    is 'without its directory' $? 1
    is 'it has failed' "$(records 'select(.record == "end").problem.message')" \
        'the run directory plimsoll-7-1-0123456789abcdef is gone after the reboot'
else
    echo 'no mount namespaces here: the legs after a reboot are not tested'
fi

nothing_called
echo 'Access denied by nobody' >called.refuse
spec 1
run
is 'a machine that cannot be restarted' $? 1
rm called.refuse
is 'says so' "$(records 'select(.record == "end").problem.message')" 'cannot restart the machine: Access denied by nobody'
is 'leaves nothing' "$(ls -A target)" ''

settings no
nothing_called
spec 1
run
is 'a target that does not allow it' $? 1
is 'is not restarted' "$(cat called 2>/dev/null)" ''
is 'which is told' "$(records 'select(.record == "end").problem | .code + " " + .field')" 'forbidden /params/reboots'

settings yes
spec 1
chmod 755 "$folder"
setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$runner" 2>/dev/null && {
    chown 65534 job target
    setpriv --reuid=65534 --regid=65534 --clear-groups "$runner" run job/spec.json --settings settings 2>said
    is 'without root' $? 2
    is 'which is told, too' "$(records 'select(.record == "end").problem | .code + " " + .field')" 'unsupported /params/reboots'
    chown 0 job target
}
spec 1
DBUS_SYSTEM_BUS_ADDRESS=unix:path=$folder/nothing run
is 'without systemd' $? 2
grep -q 'cannot be reached by D-Bus' said || fail "without systemd it said: $(<said)"
is 'no restart was asked for' "$(cat called 2>/dev/null)" ''

"$runner" run rebooting --on target >/dev/null 2>said
is 'by hand' $? 1
grep -q 'a run by hand cannot' said || fail "by hand it said: $(<said)"
is 'leaves nothing' "$(ls -A target)" ''

[[ $failed == 0 ]] && echo 'as it was told'
exit $failed
