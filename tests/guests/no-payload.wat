;; Says that it needs no payload, and denies where it is handed segments all the same.
(data (i32.const 305) "\00")
(data (i32.const 1024) "\02\00\00\00" "\48\00\00\00\0c\00\00\00" "\48\00\00\00\0c\00\00\00")
(data (i32.const 1076) "\40\00\00\00\02\00\00\00")
(func $judge (param $call i32) (result i32)
  (if (result i32) (i32.eqz (i32.load offset=152 (local.get $call)))
    (then (i32.const 512))
    (else (i32.const 1024))))
