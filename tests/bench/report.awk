# Reads `bench case tool round value unit rate` (tabs) and prints the table for people, or CSV lines with
# csv=yes. A tool's ratio in a round is reference over tool where the value is a cost, tool over reference
# where it is a rate (unit ends in /s): above 1 is better than the reference.

BEGIN {
    FS = "\t"
    split("raw hello first-tenth alone fio-uring", r, " ")
    for (i in r) reference[r[i]] = 1
    while ((getline line < marks) > 0) {
        if (line ~ /^#/ || split(line, m, /[ \t]+/) < 5) continue
        mark_n++
        mark_bench[mark_n] = m[1]; mark_case[mark_n] = m[2]; mark_tool[mark_n] = m[3]
        mark_what[mark_n] = m[4]; mark_bound[mark_n] = m[5]
    }
}
{
    kase = $1 "\t" $2
    if (!(kase in tools)) order[++cases] = kase
    if (!((kase, $3) in n)) tools[kase] = tools[kase] (tools[kase] ? "\t" : "") $3
    if ($3 in reference) ref[kase] = $3
    n[kase, $3]++
    value[kase, $3, $4] = $5
    rate[kase, $3, $4] = $7
    unit[kase] = $6
    if ($4 > rounds[kase]) rounds[kase] = $4
}

function sort_numbers(a, count,    i, j, held) {
    for (i = 2; i <= count; i++) {
        held = a[i]
        for (j = i - 1; j >= 1 && a[j] > held; j--) a[j + 1] = a[j]
        a[j + 1] = held
    }
}
function median(a, count) { # of a sorted array
    return count % 2 ? a[(count + 1) / 2] : (a[count / 2] + a[count / 2 + 1]) / 2
}
# The largest k with P(Binomial(count, 1/2) < k) <= 0.05: the k-th smallest is the lower 95 % bound of the
# median, the k-th largest the upper one. 0: too few rounds for any.
function bound_rank(count,    k, term, sum) {
    term = 1
    for (k = 0; k < count; k++) term /= 2
    for (k = 0; k < count; k++) {
        sum += term
        if (sum > 0.05) return k
        term *= (count - k) / (k + 1)
    }
    return 0
}
# What a tool is held against. Processes are held against the raw loop in one of its own; other peers are, too.
function of(kase, tool) {
    return tool == "plimsoll" || !((kase, "raw-process") in n) ? ref[kase] : "raw-process"
}
function is_reference(kase, tool) { return tool == ref[kase] || tool == "raw-process" }
# Fills mid, low, high, from, to with the median of a tool's figure, its bounds and its range.
function summarise(kase, tool, what,    a, count, i, base, k, v, b) {
    base = of(kase, tool)
    for (i = 1; i <= rounds[kase]; i++) {
        if (!((kase, tool, i) in value)) continue
        if (what == "value") v = value[kase, tool, i]
        else if (what == "rate") v = rate[kase, tool, i]
        else {
            if (base == "" || !((kase, base, i) in value)) continue
            if (what == "wall") { v = rate[kase, tool, i]; b = rate[kase, base, i] }
            else if (what == "over") { v = value[kase, tool, i] - value[kase, base, i]; b = 1 }
            else if (unit[kase] ~ /\/s$/) { v = value[kase, tool, i]; b = value[kase, base, i] }
            else { v = value[kase, base, i]; b = value[kase, tool, i] }
            if (v == "" || b + 0 == 0) continue
            v /= b
        }
        if (v == "") continue
        a[++count] = v + 0
    }
    mid = low = high = from = to = ""
    if (!count) return 0
    sort_numbers(a, count)
    mid = median(a, count); from = a[1]; to = a[count]
    k = bound_rank(count)
    if (k) { low = a[k]; high = a[count + 1 - k] }
    return count
}
function matches(pattern, text) {
    if (pattern ~ /\*$/) return index(text, substr(pattern, 1, length(pattern) - 1)) == 1
    return pattern == text
}
function number(v) {
    if (v == "") return "-"
    if (v >= 1000) return sprintf("%d", v + 0.5)
    return sprintf(v >= 100 ? "%.1f" : v >= 1 ? "%.3g" : "%.3f", v)
}
function ratio(v) { return v == "" ? "-" : sprintf("%.3f", v) }

# Of the peers of a case the one that comes nearest: the median of the tool's paired ratios to it.
function least_lead(kase, tool,    t, i, r, c, count, a, least) {
    c = split(tools[kase], t, "\t")
    least = ""
    for (i = 1; i <= c; i++) {
        if (is_reference(kase, t[i]) || t[i] ~ /^plimsoll/) continue
        count = 0
        split("", a)
        for (r = 1; r <= rounds[kase]; r++)
            if ((kase, tool, r) in value && (kase, t[i], r) in value && value[kase, tool, r] + 0 != 0)
                a[++count] = value[kase, t[i], r] / value[kase, tool, r]
        if (!count) continue
        sort_numbers(a, count)
        if (least == "" || median(a, count) < least) least = median(a, count)
    }
    return least
}
function judge(kase, tool,    part, i, words, got, ok) {
    split(kase, part, "\t")
    for (i = 1; i <= mark_n; i++) {
        if (mark_bench[i] != part[1] || mark_tool[i] != tool || !matches(mark_case[i], part[2])) continue
        if (mark_what[i] == "least" || mark_what[i] == "most") {
            summarise(kase, tool, "value"); got = mid
            ok = mark_what[i] == "least" ? got >= mark_bound[i] + 0 : got <= mark_bound[i] + 0
        } else if (mark_what[i] == "over") {
            summarise(kase, tool, "over"); got = mid
            ok = got <= mark_bound[i] + 0
        } else if (mark_what[i] == "ahead") {
            got = least_lead(kase, tool)
            if (got == "") continue # nobody is there to be ahead of
            ok = got >= mark_bound[i] + 0
        } else {
            summarise(kase, tool, mark_what[i] == "wall" ? "wall" : "ratio")
            got = mark_what[i] == "low" ? low : mark_what[i] == "wall" ? (high == "" ? mid : high) : mid
            ok = got != "" && got >= mark_bound[i] + 0
        }
        if (got == "") ok = 0
        if (!ok) failed++
        judged++
        words = words (words ? ", " : "") mark_what[i] (mark_what[i] == "most" || mark_what[i] == "over" ? " <= " : " >= ") mark_bound[i] " " \
                (got == "" ? "UNKNOWN" : ok ? "pass" : "FAIL")
    }
    return words
}
function raw_is(kase, bench) {
    if (!((kase, "raw") in n)) return ""
    if (bench == "direct") return "; raw: inlined system calls"
    return bench ~ /^(create|list|stat|remove|throughput)/ ? "; raw: a small C program, calls of the C library" : ""
}
function table(kase,    part, t, i, count, line, r_mid, r_low, spread) {
    split(kase, part, "\t")
    count = split(tools[kase], t, "\t")
    printf "%s   %s, %d round%s%s\n", part[2], unit[kase], rounds[kase], rounds[kase] == 1 ? "" : "s", raw_is(kase, part[1])
    printf "  %-16s %10s %8s %7s %7s  %-13s %10s %7s\n", "tool", "median", "spread", "ratio", "low95", "range", "ops/s", "wall"
    for (i = 1; i <= count; i++) {
        summarise(kase, t[i], "value")
        spread = mid ? sprintf("%.1f%%", 100 * (to - from) / 2 / mid) : "-"
        line = sprintf("  %-16s %10s %8s", t[i], number(mid), spread)
        if (!is_reference(kase, t[i]) && summarise(kase, t[i], "ratio"))
            line = line sprintf(" %7s %7s  %-13s", ratio(mid), ratio(low), ratio(from) "-" ratio(to))
        else
            line = line sprintf(" %7s %7s  %-13s", "-", "-", "-")
        summarise(kase, t[i], "rate")
        line = line sprintf(" %10s", number(mid))
        if (!is_reference(kase, t[i])) summarise(kase, t[i], "wall"); else mid = ""
        line = line sprintf(" %7s", ratio(mid))
        spread = judge(kase, t[i])
        print line (spread ? "  " spread : "")
    }
    print ""
}
END {
    if (csv == "yes") {
        for (c = 1; c <= cases; c++) {
            count = split(tools[order[c]], t, "\t")
            split(order[c], part, "\t")
            for (i = 1; i <= count; i++) {
                summarise(order[c], t[i], "value"); v = mid
                if (is_reference(order[c], t[i])) mid = 1; else summarise(order[c], t[i], "ratio")
                printf "%s,%s,%s,%.6g,%s,%s\n", part[1], part[2], t[i], v, unit[order[c]], mid == "" ? "" : sprintf("%.4f", mid)
            }
        }
        exit
    }
    for (c = 1; c <= cases; c++) table(order[c])
    if (judged) printf "%d of %d marks held\n", judged - failed, judged
}
