;; Denies every evaluation but the first of its life.
(global $seen (mut i32) (i32.const 0))
(data (i32.const 1024) "\02\00\00\00" "\48\00\00\00\0c\00\00\00" "\48\00\00\00\0c\00\00\00")
(data (i32.const 1076) "\40\00\00\00\02\00\00\00")
(func $judge (param i32) (result i32)
  (global.set $seen (i32.add (global.get $seen) (i32.const 1)))
  (if (result i32) (i32.eq (global.get $seen) (i32.const 1))
    (then (i32.const 512))
    (else (i32.const 1024))))
