# What bash-static is timed with: arithmetic, strings, an array, a function. It starts no second process.
collatz() {
  local n=$1
  steps=0
  while ((n != 1)); do
    if ((n & 1)); then ((n = 3 * n + 1)); else ((n /= 2)); fi
    ((++steps))
  done
}

longest=0
declare -a counts
for ((i = 1; i <= 150; i++)); do
  collatz $i
  ((counts[steps % 16]++))
  if ((steps > longest)); then longest=$steps start=$i; fi
done
printf -v text "%064d" 7
for ((i = 0; i < 2000; i++)); do
  printf -v word '%04x' $((i * 40503 % 65536))
  text=${text: -60}${word/a/A}$((i % 7))
  case $word in *f) ((last = i)) ;; esac
done
echo "$longest $start ${counts[*]} $text $last"
