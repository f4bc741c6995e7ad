;; Refuses every setting.
(data (i32.const 1024) "\01\00\00\00" "\00\05\00\00\05\00\00\00" "\10\05\00\00\09\00\00\00")
(data (i32.const 1280) "/mode")
(data (i32.const 1296) "no\1bt known")
(func $configure (param i32 i32 i32 i32) (result i32) (i32.const 1024))
