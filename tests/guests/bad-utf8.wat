;; Denies in a text that is none.
(data (i32.const 1024) "\02\00\00\00" "\48\00\00\00\0c\00\00\00" "\00\05\00\00\02\00\00\00")
(data (i32.const 1076) "\40\00\00\00\02\00\00\00")
(data (i32.const 1280) "\ff\fe")
(func $judge (param i32) (result i32) (i32.const 1024))
