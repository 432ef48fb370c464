"""What busybox is asked to do, and the files it does it on.

A scenario is (name, arguments, standard input). Nothing here starts a second process: no pipes, no
$(...), no applet that is not built into the shell, no zcat. Names that begin with "fp:" mark the
applets that calculate in floating point. Nothing looks a user's name up: the guest has no /etc/passwd.
"""

import gzip
import io
import tarfile

import packaged

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

PACKED = gzip.compress(POEM * 20, mtime=packaged.MTIME)


def archive():
    """A tar file whose owners are numbers alone."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, content in (("box", None), ("box/poem.txt", POEM), ("box/big.dat", bytes(range(256)) * 40), ("top.txt", b"top\n")):
            entry = tarfile.TarInfo(name)
            entry.mtime, entry.uid, entry.gid = packaged.MTIME, 1000, 1000
            entry.mode = 0o755 if content is None else 0o644
            entry.type = tarfile.DIRTYPE if content is None else tarfile.REGTYPE
            entry.size = len(content or b"")
            tar.addfile(entry, io.BytesIO(content or b""))
        link = tarfile.TarInfo("box/link")
        link.type, link.linkname, link.mode, link.mtime = tarfile.SYMTYPE, "poem.txt", 0o777, packaged.MTIME
        tar.addfile(link)
    return out.getvalue()

# What packaged.fill() writes.
FILES = {
    "poem.txt": POEM,
    "empty.txt": b"",
    "numbers.txt": b"".join(b"%d\n" % (n * 7919 % 1000) for n in range(300)),
    "records.csv": b"".join(b"%d,name%d,%x\n" % (n, n * 31 % 17, n * n) for n in range(100)),
    "binary.dat": bytes(n * n * 37 >> 3 & 255 for n in range(70000)),
    "no-newline.txt": b"one\ntwo",
    "script.sh": SCRIPT,
    "packed.gz": PACKED,
    "packed.tar": archive(),
    "folder": None,
    "folder/a.txt": b"file a\n",
    "folder/b.txt": b"file b\n",
    "folder/deep": None,
    "folder/deep/c.txt": b"file c\n",
    "link.txt": "poem.txt",
    "dangling": "nowhere",
}

# Applets whose first scenarios make the quick share.
QUICK = "echo cat ls wc sort md5sum sha256sum gzip gunzip sed grep sh awk seq".split()


def sh(text):
    return ["sh", "-c", text]


def awk(text, *files):
    options = [name for name in files if name.startswith("-") or "=" in name]
    return ["awk", *options, text, *(name for name in files if name not in options)]


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
    ("tar -t", ["tar", "-tf", "packed.tar"], b""),
    ("tar -x", ["tar", "-xof", "packed.tar"], b""),
    ("tar -x, one file", ["tar", "-xof", "packed.tar", "box/poem.txt"], b""),
    ("tar -xO", ["tar", "-xOf", "packed.tar", "box/poem.txt", "top.txt"], b""),
    ("tar -x, stdin", ["tar", "-xo"], archive()),
    ("tar damaged", ["tar", "-xof", "binary.dat"], b""),
    ("dc", ["dc", "-e", "2 3 + p"], b""),
    ("true", ["true"], b""),
    ("false", ["false"], b""),
    ("no such applet", ["no-such-applet"], b""),
    ("fp: awk", awk("{ s += $1 } END { print s, NR }", "-F,", "records.csv"), b""),
    ("fp: awk fields", awk('{ print NR ": " $NF, NF; $2 = "x"; print }', "poem.txt"), b""),
    ("fp: awk patterns", awk('/apple/, /deepest/ { n++ } !/a/ { print "none:", $0 } END { print n }', "poem.txt"), b""),
    ("fp: awk arithmetic", awk('BEGIN { print 1/3, 2^0.5, 2**10, 7%3, -7%3, 1e300*1e10, 0.1+0.2, 1e6, 1e16, 123456789012 }'), b""),
    ("fp: awk functions", awk('BEGIN { print sin(1), cos(1), atan2(1, 2), exp(1), log(10), sqrt(2), int(-3.7), int("42abc") }'), b""),
    ("fp: awk printf", awk(r'BEGIN { printf "%d %5.2f %e %g %s %c %x %o %%\n", 42.9, 3.14159, 12345.678, 1e-10, "s", 65, 255, 8; printf "%-8s|%08.3f|%+d\n", "ab", -2.5, 7 }'), b""),
    ("fp: awk rounding", awk('BEGIN { for (x = -2.5; x <= 2.5; x += 0.5) printf "%.0f %d %g;", x, x, x / 3; print "" ; OFMT = "%.3g"; CONVFMT = "%.2g"; a = 3.14159; print a, (a "") }'), b""),
    ("fp: awk strings", awk('BEGIN { s = "hello world"; print length(s), substr(s, 3, 5), index(s, "wor"), toupper(s), match(s, /o+/), RSTART, RLENGTH; n = split("a:b:c", p, ":"); print n, p[3]; gsub(/o/, "0", s); sub(/h/, "H", s); print s }'), b""),
    ("fp: awk arrays", awk('{ n[$1 % 7]++; t[$1 % 7] += $1 } END { for (i = 0; i < 7; i++) print i, n[i], t[i] / n[i]; print (3 in n), (9 in n); delete n[3]; print (3 in n), length(n) }', "numbers.txt"), b""),
    ("fp: awk statistics", awk('{ s += $1; q += $1 * $1; if (NR == 1 || $1 > m) m = $1 } END { a = s / NR; printf "%.6f %.6f %d\\n", a, sqrt(q / NR - a * a), m }', "numbers.txt"), b""),
    ("fp: awk loop", awk('BEGIN { for (i = 1; i <= 20000; i++) { s += 1 / (i * i); if (i % 2) p += 4 / (2 * i - 1); else p -= 4 / (2 * i - 1) } printf "%.12f %.12f\n", s, p }'), b""),
    ("fp: awk recursion", awk('function f(n) { return n < 2 ? n : f(n - 1) + f(n - 2) } BEGIN { print f(15) }'), b""),
    ("fp: awk sort", awk('{ a[NR] = $1 } END { for (i = 2; i <= NR; i++) { v = a[i]; for (j = i - 1; j > 0 && a[j] > v; j--) a[j + 1] = a[j]; a[j + 1] = v } for (i = 1; i <= NR; i += 30) printf "%s ", a[i]; print "" }', "numbers.txt"), b""),
    ("fp: awk getline and output", awk('BEGIN { while ((getline line < "poem.txt") > 0) print length(line) > "lengths.txt"; close("lengths.txt"); while ((getline n < "lengths.txt") > 0) s += n; print s }'), b""),
    ("fp: awk variables", awk('BEGIN { FS = ","; OFS = ";"; ORS = "|\n" } NR > 3 { exit 4 } { $1 = $1; print v, $0 }', "-v", "v=1e3", "records.csv"), b""),
    ("fp: awk bits", awk('BEGIN { print and(12, 10), or(12, 10), xor(12, 10), lshift(1, 20), rshift(1024, 3), compl(0) }'), b""),
    ("fp: awk random with a seed", awk('BEGIN { srand(5); a = rand(); srand(5); print a == rand(), a >= 0 && a < 1 }'), b""),
    ("fp: awk comparisons", awk('BEGIN { print (10 < 9), ("10" < "9"), ("abc" < "abd"), (1e2 == 100), ("1e2" == 100), !"", !0, !"0" } { print ($1 > $2), ($1 == $2) }'), b"10 9\n1e1 10\nabc abd\n0x10 16\n"),
    ("fp: awk wrong", awk('BEGIN { print 1 +'), b""),
    ("fp: awk division by zero", awk('BEGIN { print "before"; print 1 / 0 }'), b""),
    ("fp: seq", ["seq", "1", "3", "20"], b""),
    ("fp: seq fractions", ["seq", "0.5", "0.25", "2"], b""),
    ("fp: seq -w", ["seq", "-w", "8", "12"], b""),
    ("fp: seq down", ["seq", "-s,", "5", "-2", "-5"], b""),
    ("fp: sort -n fractions", ["sort", "-n"], b"10.5\n-3\n2e3\n.5\n0\n-0.25\n10.25\n"),
    ("fp: sort -g", ["sort", "-g"], b"1e3\n5\n-2.5e-3\n1e-300\nnan\ninf\nabc\n"),
    ("fp: sort -h", ["sort", "-k2", "-n", "-r"], b"a 3\nb 20\nc 1.5\n"),
    ("fp: printf", ["printf", "%f %e %g %.3f|%8.2f\\n", "3.14159", "1e10", "0.0001", "2.0005", "-7.125"], b""),
    ("fp: dc", ["dc", "-e", "20 k 2 v p 10 3 / p 1 7 / p"], b""),
    ("fp: dc powers", ["dc", "-e", "2 200 ^ p 3 4 5 ^ ^ 7 % p"], b""),
    ("fp: bc", ["bc"], b"scale=15\nsqrt(2)\n10/3\n2^100\nfor (i=0;i<3;i++) i*1.5\n"),
    ("fp: bc -l", ["bc", "-l"], b"s(1)\nc(1)\na(1)*4\nl(2)\ne(1)\n"),
    ("fp: factor", ["factor", "600851475143", "18446744073709551557"], b""),
    ("fp: du", ["du", "-h", "missing"], b""),
    ("fp: sleep", ["sleep", "0.01"], b""),
    ("fp: timeout arguments", ["sleep", "x1"], b""),
]
