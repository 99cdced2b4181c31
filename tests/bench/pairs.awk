# Reads what `alternate` prints and tells of one phase `OURS BARE OURS_RATE BARE_RATE`: medians, ours by the median
# of the paired ratios.
$1 == phase {
    n++
    ratio[n] = $3 / $2
    bare[n] = $3
    wall[n] = $4 / $5
    rate[n] = $5
}
function median(a,    i, j, held) {
    for (i = 2; i <= n; i++) {
        held = a[i]
        for (j = i - 1; j >= 1 && a[j] > held; j--) a[j + 1] = a[j]
        a[j + 1] = held
    }
    return n % 2 ? a[(n + 1) / 2] : (a[n / 2] + a[n / 2 + 1]) / 2
}
END {
    if (!n) exit 1
    b = median(bare)
    r = median(rate)
    printf "%.3f %.3f %.1f %.1f\n", b / median(ratio), b, r * median(wall), r
}
