;; Denies a call in whose subject the word `frobnicate` stands. It works: for putting into a gateway while calls run.
(data (i32.const 1024) "\02\00\00\00" "\48\00\00\00\0c\00\00\00" "\00\05\00\00\10\00\00\00")
(data (i32.const 1076) "\40\00\00\00\02\00\00\00")
(data (i32.const 1280) "not on this site")
(data (i32.const 1300) "frobnicate")
(func $judge (param i32) (result i32)
  (local $at i32)
  (local.set $at (i32.const 32768))
  (block $none
    (loop $next
      (br_if $none (i32.gt_u (i32.add (local.get $at) (i32.const 10)) (global.get $heap)))
      (if (i32.and
            (i64.eq (i64.load (local.get $at)) (i64.load (i32.const 1300)))
            (i32.eq (i32.load16_u offset=8 (local.get $at)) (i32.load16_u (i32.const 1308))))
        (then (return (i32.const 1024))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br $next)))
  (i32.const 512))
