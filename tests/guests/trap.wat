;; Gives up.
(func $judge (param i32) (result i32) (unreachable))
