;; Judges without end.
(func $judge (param i32) (result i32)
  (loop $forever (br $forever))
  (unreachable))
