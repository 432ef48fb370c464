# What bash-static is timed with: words, arrays, patterns, functions, arithmetic, here-strings, printf, read.
# $1 is the size. It starts no second process.
size=$1
sum=0
seed=42

random() { ((seed = (seed * 1103515245 + 12345) % 2147483648, result = seed / 65536 % $1)); }
fold() { ((sum = (sum * 31 + $1) % 4294967291)); }

lists() {
  local -a list=()
  local i k swap
  for ((i = 0; i < size; i++)); do random 1000; list+=("$result"); done
  for ((i = 1; i < size && i < 60; i++)); do
    swap=${list[i]}
    for ((k = i; k > 0 && list[k - 1] > swap; k--)); do ((list[k] = list[k - 1])); done
    list[k]=$swap
  done
  for i in "${list[@]:0:60}"; do fold "$i"; done
  unset "list[3]"
  fold "${#list[@]}"
}

tables() {
  local -A table=()
  local i key
  for ((i = 0; i < size * 4; i++)); do
    random 50
    key=key$result
    ((table[$key] += i)) || true
  done
  for ((i = 0; i < 50; i++)); do fold "${table[key$i]:-1}"; done
}

strings() {
  local i word text= part
  for ((i = 0; i < size * 2; i++)); do
    printf -v word '%05d:%-6s|%x' $((i * 7919 % 100000)) "${text: -3}" "$i"
    text=${text: -40}${word//[02468]/e}
    word=${word^^}
    case $word in *[A-F]) fold 1 ;; 1*) fold 2 ;; *:?E*) fold 3 ;; *) fold 4 ;; esac
    part=${word%%|*}
    fold $((${#text} + ${#part} + 10#${word:0:5}))
    if [[ $text =~ ([a-f])([0-9]+)e ]]; then fold "${#BASH_REMATCH[2]}"; fi
    if [[ $word == *:E* && ! $text < $word ]]; then fold 5; fi
  done
}

fields() {
  local i line first second rest
  for ((i = 0; i < size; i++)); do
    line="$i  field$((i % 9)) 'quoted words' and  $((i * 3)) more"
    read -r first second rest <<<"$line"
    fold $((first + ${#second} + ${#rest}))
    set -- $line
    fold $#
    IFS=e read -r first second rest <<<"$rest"
    fold $((${#first} * 10 + ${#second}))
    eval "second=\$((first_$((i % 3)) + ${#rest}))"
    fold "$second"
  done
}

fibonacci() {
  if (($1 < 2)); then result=$1; return; fi
  local left
  fibonacci $(($1 - 1))
  left=$result
  fibonacci $(($1 - 2))
  ((result += left))
}

for part in lists tables strings fields; do
  "$part"
  echo "$part $sum"
done
for ((turn = 0; turn < size / 40; turn++)); do fibonacci 9; fold "$result"; done
echo "fibonacci $sum"
