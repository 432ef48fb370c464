"""What busybox is asked to do, and the files it does it on.

A scenario is (name, arguments, standard input). Nothing here starts a second process: no pipes, no
$(...), no applet that is not built into the shell, no zcat. Applets that calculate in floating
point carry the mark "fp:" and wait for the FP instructions.
"""

import gzip

MTIME = 1_000_000_000

POEM = b"""Lanes that drift apart
must meet again;
Zebra, apple, mango,
among a warp's runnable lanes
pick the deepest stack, then the smallest pc.
apple
mango 17
"""

SCRIPT = b"""# A script that needs no second process.
add() { total=$((total + $1)); }
total=0
for n in 1 2 3 4 5 6 7 8 9 10; do add $n; done
echo "total $total"
i=0
while [ $i -lt 5 ]; do
  case $i in
    0|2|4) kind=even ;;
    *) kind=odd ;;
  esac
  printf '%d is %s\\n' $i $kind
  i=$((i + 1))
done
while read first rest; do
  echo "[$first] ${#rest} ${rest%% *}"
done < poem.txt
exit $((total % 7))
"""

PACKED = gzip.compress(POEM * 20, mtime=MTIME)

# Path -> content; a folder when the content is None, a symbolic link when it is a str.
FILES = {
    "poem.txt": POEM,
    "empty.txt": b"",
    "numbers.txt": b"".join(b"%d\n" % (n * 7919 % 1000) for n in range(300)),
    "records.csv": b"".join(b"%d,name%d,%x\n" % (n, n * 31 % 17, n * n) for n in range(100)),
    "binary.dat": bytes(n * n * 37 >> 3 & 255 for n in range(70000)),
    "no-newline.txt": b"one\ntwo",
    "script.sh": SCRIPT,
    "packed.gz": PACKED,
    "folder": None,
    "folder/a.txt": b"file a\n",
    "folder/b.txt": b"file b\n",
    "folder/deep": None,
    "folder/deep/c.txt": b"file c\n",
    "link.txt": "poem.txt",
    "dangling": "nowhere",
}

# Applets whose first scenarios make the quick share.
QUICK = "echo cat ls wc sort md5sum sha256sum gzip gunzip sed grep sh".split()


def sh(text):
    return ["sh", "-c", text]


SCENARIOS = [
    ("echo", ["echo", "hello", "world"], b""),
    ("echo escapes", ["echo", "-e", r"a\tb\n\x41"], b""),
    ("echo no newline", ["echo", "-n", "x"], b""),
    ("cat", ["cat", "poem.txt", "no-newline.txt"], b""),
    ("cat stdin", ["cat", "-", "folder/a.txt"], b"from stdin\n"),
    ("cat binary", ["cat", "binary.dat"], b""),
    ("cat -n through a link", ["cat", "-n", "link.txt"], b""),
    ("cat missing", ["cat", "missing", "empty.txt"], b""),
    ("cat dangling link", ["cat", "dangling"], b""),
    ("cat folder", ["cat", "folder"], b""),
    ("ls", ["ls"], b""),
    ("ls -l", ["ls", "-ln", "poem.txt", "folder"], b""),
    ("ls -R", ["ls", "-RF"], b""),
    ("ls -a1", ["ls", "-a1", "folder"], b""),
    ("ls -S", ["ls", "-1S", "poem.txt", "binary.dat", "empty.txt"], b""),
    ("ls missing", ["ls", "missing"], b""),
    ("wc", ["wc", "poem.txt", "binary.dat", "empty.txt"], b""),
    ("wc stdin", ["wc", "-lwc"], POEM),
    ("wc -L", ["wc", "-L", "poem.txt"], b""),
    ("sort", ["sort", "poem.txt"], b""),
    ("sort -ru", ["sort", "-ru", "numbers.txt"], b""),
    ("sort -o", ["sort", "-f", "-o", "sorted.txt", "poem.txt"], b""),
    ("sort -k", ["sort", "-t,", "-k2,2", "-s", "records.csv"], b""),
    ("sort -z", ["sort", "-z"], b"b\0a\0c\0"),
    ("fp: sort -n", ["sort", "-n", "numbers.txt"], b""),
    ("md5sum", ["md5sum", "poem.txt", "binary.dat", "empty.txt"], b""),
    ("md5sum -c", ["md5sum", "-c"], b"d41d8cd98f00b204e9800998ecf8427e  empty.txt\n"),
    ("sha256sum", ["sha256sum", "poem.txt", "binary.dat"], b""),
    ("sha256sum stdin", ["sha256sum"], bytes(100_000)),
    ("sha256sum -c wrong", ["sha256sum", "-c"], b"0" * 64 + b"  poem.txt\n"),
    ("sha1sum", ["sha1sum", "binary.dat"], b""),
    ("sha512sum", ["sha512sum", "binary.dat"], b""),
    ("sha3sum", ["sha3sum", "binary.dat"], b""),
    ("gzip", ["gzip", "binary.dat"], b""),
    ("gzip -c", ["gzip", "-c", "numbers.txt"], b""),
    ("gzip stdin", ["gzip", "-9"], POEM * 50),
    ("gzip -k", ["gzip", "-k", "poem.txt"], b""),
    ("gunzip", ["gunzip", "packed.gz"], b""),
    ("gunzip -c", ["gunzip", "-c", "packed.gz"], b""),
    ("gunzip damaged", ["gunzip", "-c", "poem.txt"], b""),
    ("gunzip stdin", ["gunzip"], PACKED),
    ("sed s", ["sed", "s/an/AN/g", "poem.txt"], b""),
    ("sed groups", ["sed", "-E", r"s/([a-z]+) ([a-z]+)/\2 \1/", "poem.txt"], b""),
    ("sed -n p", ["sed", "-n", "/apple/,/deepest/p;$=", "poem.txt"], b""),
    ("sed -i", ["sed", "-i", "-e", "2d", "-e", "y/aeiou/AEIOU/", "poem.txt"], b""),
    ("sed script", ["sed", ":a;N;$!ba;s/\\n/ | /g", "poem.txt"], b""),
    ("sed wrong", ["sed", "s/x", "poem.txt"], b""),
    ("grep", ["grep", "-n", "apple", "poem.txt"], b""),
    ("grep -E", ["grep", "-Eo", "[a-z]+(le|go)", "poem.txt"], b""),
    ("grep -vc", ["grep", "-vc", "a", "poem.txt", "numbers.txt"], b""),
    ("grep -r", ["grep", "-r", "file", "folder"], b""),
    ("grep none", ["grep", "nothing like this", "poem.txt"], b""),
    ("grep -f", ["grep", "-Fif", "-", "poem.txt"], b"LANES\nmango\n"),
    ("sh script", ["sh", "script.sh"], b""),
    ("sh arithmetic", sh("echo $((7*6)) $((1<<40)) $((-17/5)) $((-17%5)) $((0x7f ^ 3)) $((5>3 ? 8 : 9))"), b""),
    ("sh strings", sh("x=abcdefabc; echo ${x#*c} ${x##*c} ${x%c*} ${x%%b*} ${#x} ${x:2:3} ${x/abc/X} ${y:-none}"), b""),
    ("sh functions", sh('f() { [ $1 -le 1 ] && r=1 || { f $(($1-1)); r=$((r*$1 + $1)); }; }; f 15; echo $r'), b""),
    ("sh loop", sh("i=0; s=0; while [ $i -lt 20000 ]; do s=$((s*31%65537+i)); i=$((i+1)); done; echo $s"), b""),
    ("sh case", sh('for w in apple bob 42 ""; do case "$w" in a*) echo A;; [0-9]*) echo N;; "") echo E;; *) echo O;; esac; done'), b""),
    ("sh read", sh('while IFS=: read -r a b c; do echo "$c-$b-$a"; done'), b"1:2:3\nx:y\n\\n:b:c\n"),
    ("sh redirect", sh("echo one > new.txt; echo two >> new.txt; { read a; read b; } < new.txt; echo $b $a; : > empty2"), b""),
    ("sh here-document", sh("read a b <<END\nfirst $((2+3)) third\nEND\necho \"$b/$a\""), b""),
    ("sh glob", sh("echo *.txt folder/*; set -- *; echo $#; cd folder; echo *"), b""),
    ("sh test", sh("[ -f poem.txt ] && echo f; [ -d folder ] && echo d; [ -L link.txt ] && echo l; [ -e dangling ] || echo n; [ poem.txt -ef link.txt ] && echo same; [ -s empty.txt ] || echo empty"), b""),
    ("sh printf", sh(r"printf '%5d|%-5s|%05x|%c|%%|%o\n' 42 ab 255 xyz 8; printf '%s,' a b c; printf '\101\n'"), b""),
    ("sh trap", sh("trap 'echo bye' EXIT; echo hi; exit 3"), b""),
    ("sh kill self", sh("trap 'echo usr1' USR1; kill -USR1 $$; echo after"), b""),
    ("sh killed", sh("echo before; kill -TERM $$; echo never"), b""),
    ("sh not found", sh("no_such_builtin; echo $?"), b""),
    ("sh syntax error", sh("if then"), b""),
    ("sh set -eu", sh("set -eu; echo a; false; echo b"), b""),
    ("sh eval and local", sh('f() { local v=in; eval "w=\\$v"; echo $w; }; v=out; f; echo $v; shift 2>/dev/null; getopts ab: o -b 5; echo $o $OPTARG'), b""),
    ("cp -r", ["cp", "-r", "folder", "copy"], b""),
    ("mv", ["mv", "poem.txt", "folder/moved.txt"], b""),
    ("rm -r", ["rm", "-r", "folder", "dangling"], b""),
    ("rm missing", ["rm", "missing"], b""),
    ("mkdir -p", ["mkdir", "-p", "x/y/z", "folder"], b""),
    ("rmdir not empty", ["rmdir", "folder"], b""),
    ("ln", ["ln", "poem.txt", "hard.txt"], b""),
    ("ln -s, readlink", ["ln", "-s", "folder/a.txt", "soft"], b""),
    ("readlink", ["readlink", "dangling"], b""),
    ("chmod", ["chmod", "750", "script.sh"], b""),
    ("touch", ["touch", "new.txt"], b""),
    ("truncate", ["truncate", "-s", "10", "poem.txt"], b""),
    ("tee", ["tee", "-a", "poem.txt", "copy.txt"], b"more\n"),
    ("dd", ["dd", "if=binary.dat", "of=part.dat", "bs=512", "skip=3", "count=5", "conv=notrunc", "status=none"], b""),
    ("head", ["head", "-n", "3", "numbers.txt", "poem.txt"], b""),
    ("tail", ["tail", "-c", "9", "records.csv"], b""),
    ("tail stdin", ["tail", "-n", "2"], POEM),
    ("cut", ["cut", "-d,", "-f1,3", "records.csv"], b""),
    ("tr", ["tr", "-s", "a-z", "A-Z"], POEM),
    ("uniq -c", ["uniq", "-c"], b"a\na\nb\nc\nc\nc\n"),
    ("paste", ["paste", "folder/a.txt", "folder/b.txt"], b""),
    ("od", ["od", "-A", "x", "-t", "x1", "no-newline.txt"], b""),
    ("hexdump", ["hexdump", "-C", "poem.txt"], b""),
    ("base64", ["base64", "binary.dat"], b""),
    ("base64 -d", ["base64", "-d"], b"aGVsbG8K\n"),
    ("cmp", ["cmp", "folder/a.txt", "folder/b.txt"], b""),
    ("diff", ["diff", "-u", "folder/a.txt", "folder/a.txt"], b""),
    ("find", ["find", "folder", "-type", "f", "-name", "*.txt"], b""),
    ("find -size", ["find", ".", "-type", "f", "-size", "+8"], b""),
    ("stat", ["stat", "-c", "%n %s %F %a %h", "poem.txt", "folder", "link.txt"], b""),
    ("expr", ["expr", "12", "*", "(", "7", "-", "2", ")"], b""),
    ("factor", ["factor", "1234567891011"], b""),
    ("rev", ["rev", "poem.txt"], b""),
    ("tac", ["tac", "poem.txt"], b""),
    ("fold", ["fold", "-w", "20", "poem.txt"], b""),
    ("nl", ["nl", "poem.txt"], b""),
    ("strings", ["strings", "binary.dat"], b""),
    ("bzip2", ["bzip2", "-c", "records.csv"], b""),
    ("tar", ["tar", "-cf", "out.tar", "--numeric-owner", "folder/a.txt"], b""),
    ("dc", ["dc", "-e", "2 3 + p"], b""),
    ("true", ["true"], b""),
    ("false", ["false"], b""),
    ("no such applet", ["no-such-applet"], b""),
    ("fp: awk", ["awk", "-F,", "{ s += $1 } END { print s, NR }", "records.csv"], b""),
    ("fp: seq", ["seq", "1", "3", "20"], b""),
]
