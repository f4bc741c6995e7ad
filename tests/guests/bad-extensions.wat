;; Extends its verdict with a list.
(data (i32.const 1076) "\00\05\00\00\02\00\00\00")
(data (i32.const 1280) "[]")
(func $judge (param i32) (result i32) (i32.const 1024))
