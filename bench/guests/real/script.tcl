# What Jim Tcl is timed with: lists, dictionaries, arrays, strings, regular expressions, procedures, sorting,
# errors. argv holds the size.
set size [lindex $argv 0]
set seed 42

proc random {limit} {
  global seed
  set seed [expr {($seed * 1103515245 + 12345) % 2147483648}]
  return [expr {$seed / 65536 % $limit}]
}

proc fold {sum value} { return [expr {($sum * 31 + $value) % 4294967291}] }

proc lists {} {
  global size
  set sum 0
  set list {}
  for {set i 0} {$i < $size * 4} {incr i} { lappend list [random 10000] }
  foreach value [lsort -integer $list] { set sum [fold $sum $value] }
  foreach {a b} [lsort -decreasing $list] { set sum [fold $sum [expr {$a ^ $b}]] }
  set short [lrange $list 0 99]
  for {set i 0} {$i < $size} {incr i} {
    set short [linsert [lreplace $short [expr {$i % 90}] [expr {$i % 90}]] 40 $i]
    lset short 3 [lindex $short end]
  }
  set doubled [lmap value $short { expr {$value % 3 ? $value * 2 : [continue]} }]
  foreach value [concat $doubled [lreverse $short]] { set sum [fold $sum $value] }
  return [fold $sum [lsearch $short 7]]
}

proc tables {} {
  global size
  set sum 0
  set counts [dict create]
  for {set i 0} {$i < $size * 4} {incr i} {
    dict incr counts "key[random 200]" $i
    set cells([expr {$i % 50}],[expr {$i % 7}]) $i
  }
  foreach key [lsort [dict keys $counts]] { set sum [fold $sum [dict get $counts $key]] }
  foreach name [lsort [array names cells]] { set sum [fold $sum $cells($name)] }
  set nested [dict create]
  for {set i 0} {$i < $size} {incr i} { dict set nested [expr {$i % 10}] [expr {$i % 3}] $i }
  dict for {outer inner} $nested {
    foreach key [lsort [dict keys $inner]] { set sum [fold $sum [dict get $inner $key]] }
  }
  return $sum
}

proc strings {} {
  global size
  set sum 0
  set text {}
  for {set i 0} {$i < $size * 2} {incr i} {
    set tail [string repeat ab [expr {$i % 3 + 1}]]
    set word [format "%05d:%-6s|%x|%.3f" [expr {$i * 7919 % 100000}] $tail $i [expr {$i / 7.0}]]
    append text [string reverse [string toupper $word]] \n
    set sum [fold $sum [expr {[string length $word] + [string first | $word]}]]
  }
  foreach line [split [string trim $text] \n] {
    lassign [split $line "|"] fraction hex name
    set sum [fold $sum [expr {[string length $name] + [scan [string index $hex 0] %c]}]]
    if {[string match {*[1-5]*.*} $fraction]} { set sum [fold $sum 1] }
    switch -glob -- $line {
      1* { set sum [fold $sum 2] }
      *A: { set sum [fold $sum 3] }
      default { set sum [fold $sum 4] }
    }
  }
  return [fold $sum [string length [string map {A xyz B {} | --} $text]]]
}

proc expressions {} {
  global size
  set sum 0
  for {set i 0} {$i < $size} {incr i} {
    set text "user[random 1000].name@host-[expr {$i % 7}].example.org a=$i.5 b=-[random 500]"
    if {[regexp {^([a-z][a-z0-9.]*)@(([a-z0-9-]+\.)+[a-z]{2,4})} $text all name host]} {
      set sum [fold $sum [expr {[string length $name] * 100 + [string length $host]}]]
    }
    set sum [fold $sum [regsub -all {[a-z]=([-0-9.]+)} $text {<\1>} changed]]
    set sum [fold $sum [string length $changed]]
    set sum [fold $sum [llength [regexp -all -inline {\d+} $text]]]
  }
  return $sum
}

proc fibonacci {n} { if {$n < 2} { return $n }; expr {[fibonacci [expr {$n - 1}]] + [fibonacci [expr {$n - 2}]]} }

proc procedures {} {
  global size
  set sum 0
  for {set i 0} {$i < $size / 20} {incr i} { set sum [fold $sum [fibonacci 11]] }
  set double [lambda {x} { expr {$x * 2 % 65521} }]
  for {set i 0} {$i < $size * 3} {incr i} { set sum [fold $sum [$double [expr {$sum + $i}]]] }
  proc swap {left right} { upvar 1 $left a $right b; set c $a; set a $b; set b $c }
  set x 1
  set y 2
  for {set i 0} {$i < $size * 2} {incr i} { swap x y; incr x; set sum [fold $sum [expr {$x * 3 - $y}]] }
  for {set i 0} {$i < $size} {incr i} {
    if {[catch { if {$i % 3 == 0} { error "odd $i" }; expr {$i * 2} } result]} { set result [string length $result] }
    set sum [fold $sum $result]
    set sum [fold $sum [eval [list expr "$i % 11 + 1"]]]
  }
  return $sum
}

set total 0
foreach part {lists tables strings expressions procedures} {
  set sum [$part]
  puts "$part $sum"
  set total [fold $total $sum]
}
puts "total $total"
