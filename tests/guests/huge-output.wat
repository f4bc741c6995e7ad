;; Answers a million findings, all of them the same empty memory.
(memory (export "memory") 512)
(data (i32.const 1044) "\00\00\01\00" "\40\42\0f\00")
(data (i32.const 1076) "\40\00\00\00\02\00\00\00")
(func $judge (param i32) (result i32) (i32.const 1024))
