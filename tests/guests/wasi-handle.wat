;; world: wasi-policy
;; Keeps a handle from `configure`.
(import "wasi:clocks/monotonic-clock@0.2.0" "subscribe-duration" (func $subscribe (param i64) (result i32)))
(import "wasi:io/poll@0.2.0" "[method]pollable.block" (func $block (param i32)))
(global $kept (mut i32) (i32.const 0))
(func $configure (param i32 i32 i32 i32) (result i32)
  (global.set $kept (call $subscribe (i64.const 1)))
  (i32.const 640))
(func $judge (param i32) (result i32)
  (call $block (global.get $kept))
  (i32.const 512))
