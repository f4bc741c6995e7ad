;; world: result-policy
;; Blanks bytes 0 to 3 and 1 to 4 of the text.
(data (i32.const 1052) "\00\05\00\00" "\02\00\00\00")
(data (i32.const 1076) "\40\00\00\00\02\00\00\00")
(data (i32.const 1280)
  "\00\00\00\00" "\48\00\00\00\0c\00\00\00" "\00\00\00\00\00\00\00\00\03\00\00\00" "\00\00\00\00"
  "\00\00\00\00" "\48\00\00\00\0c\00\00\00" "\00\00\00\00\01\00\00\00\04\00\00\00" "\00\00\00\00")
;; Judges the first round so, and finds nothing more in the second: the marker stands there then.
(func $judge (param $facts i32) (result i32)
  (if (result i32) (i32.eq (i32.load offset=80 (local.get $facts)) (i32.const 1))
    (then (i32.const 1024))
    (else (i32.const 512))))
