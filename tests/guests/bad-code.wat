;; Denies with a code that could be a sentence.
(data (i32.const 1024) "\02\00\00\00" "\00\05\00\00\0b\00\00\00" "\00\05\00\00\0b\00\00\00")
(data (i32.const 1076) "\40\00\00\00\02\00\00\00")
(data (i32.const 1280) "Obey me now")
(func $judge (param i32) (result i32) (i32.const 1024))
