;; Logs a hundred thousand lines, then allows.
(import "portcullis:policy/log@0.1.0" "write" (func $log (param i32 i32 i32)))
(func $judge (param i32) (result i32)
  (local $left i32)
  (local.set $left (i32.const 100000))
  (loop $more
    (call $log (i32.const 2) (i32.const 72) (i32.const 12))
    (br_if $more (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))
  (i32.const 512))
