# What busybox awk is timed with: fields, arrays, functions, regular expressions, printf, recursion.
# Run with -v size=SIZE on a file of words; SIZE is the number of lines it reads.
function random(limit) {
  seed = (seed * 69069 + 12345) % 4294967296
  return int(seed / 65536) % limit
}

function fold(sum, value) { return (sum * 31 + value) % 4294967291 }

function quicksort(list, left, right,    at, last, swap) {
  if (left >= right) return
  swap = list[left]; list[left] = list[int((left + right) / 2)]; list[int((left + right) / 2)] = swap
  last = left
  for (at = left + 1; at <= right; at++)
    if (list[at] < list[left]) { last++; swap = list[last]; list[last] = list[at]; list[at] = swap }
  swap = list[left]; list[left] = list[last]; list[last] = swap
  quicksort(list, left, last - 1)
  quicksort(list, last + 1, right)
}

BEGIN { seed = 42 }

NR > size { exit }

{
  for (i = 2; i <= NF; i++) { count[$i]++; lengths[length($i)]++ }
  numbers[NR] = $1
  sum = fold(sum, NF * length($0))
  if ($0 ~ /(lane|branch).*[aeiou]nd? proof/) matched++
  if (match($0, /[0-9]+ [a-z]+ng?[a-z]*/)) sum = fold(sum, RSTART * 100 + RLENGTH)
  changed = $0
  sum = fold(sum, gsub(/[aeiou]([a-z])/, "<&>", changed) + length(changed))
  $3 = toupper(substr($3, 1, 2)) NR
  sum = fold(sum, index($0, "me") + split($0, pieces, /[ A-Z]+/))
  line = sprintf("%-8s|%6.2f|%05d|%x", pieces[1], $1 / 7, NR, $1)
  sum = fold(sum, length(line))
}

END {
  for (i = 1; i <= 20; i++) sum = fold(sum, lengths[i])
  print "words", count["lane"], count["memory"], count["the"], matched
  total = NR > size ? size : NR
  quicksort(numbers, 1, total)
  for (i = 1; i <= total; i += 5) sum = fold(sum, numbers[i])
  for (i = 0; i < size * 4; i++) {
    key = random(100) "," random(10)
    table[key] += i
    if (i % 7 == 0) delete table[key]
  }
  for (i = 0; i < 100; i++) for (k = 0; k < 10; k++) if ((i "," k) in table) sum = fold(sum, table[i "," k])
  for (i = 1; i < size * 4; i++) {
    n = i % 60 + 1
    while (n > 1) n = n % 2 ? 3 * n + 1 : n / 2
    sum = fold(sum, n + i % 7)
  }
  print "sum", sum
}
