;; What every guest of this folder shares. The lines `;; @import`, `;; @memory` and `;; @body` are replaced by the
;; parts of a guest; a part that the guest does not define is filled with what an honest policy would do.
;;
;; Memory: 0–1023 belongs to this file, guests place their data from 1024 on, the heap starts at 32768.
(module
  ;; @import
  ;; @memory
  (global $heap (mut i32) (i32.const 32768))

  (data (i32.const 16) "guest")
  (data (i32.const 24) "1.0.0")
  (data (i32.const 32) "A guest for tests.")
  (data (i32.const 64) "{}")
  (data (i32.const 72) "hostile-rule")

  ;; The description, at 256: name, version, summary, one rule, one label, one meter, every right, needs the payload.
  (data (i32.const 256)
    "\10\00\00\00\05\00\00\00" "\18\00\00\00\05\00\00\00" "\20\00\00\00\12\00\00\00"
    "\40\01\00\00\01\00\00\00" "\60\01\00\00\01\00\00\00" "\68\01\00\00\01\00\00\00"
    "\7f\01\00\00")
  ;; The rule at 320, the label at 352, the meter at 360: all called `hostile-rule`.
  (data (i32.const 320) "\48\00\00\00\0c\00\00\00" "\03\00\00\00" "\20\00\00\00\12\00\00\00")
  (data (i32.const 352) "\48\00\00\00\0c\00\00\00")
  (data (i32.const 360) "\48\00\00\00\0c\00\00\00" "\3c\00\00\00")

  ;; A verdict that allows, at 512: the decision in 20 bytes, four empty lists in 32, then the extensions.
  (data (i32.const 564) "\40\00\00\00\02\00\00\00")

  ;; `ok` of `configure`, at 640: zeros.

  (func $realloc (export "cabi_realloc") (param $old i32) (param $size i32) (param $align i32) (param $new i32)
    (result i32)
    (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $heap) (i32.const 7)) (i32.const -8)))
    (global.set $heap (i32.add (local.get $at) (local.get $new)))
    (block $fits
      (loop $grow
        (br_if $fits (i32.le_u (global.get $heap) (i32.mul (memory.size) (i32.const 65536))))
        (br_if $grow (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))
        (unreachable)))
    (local.get $at))

  ;; @body
)
