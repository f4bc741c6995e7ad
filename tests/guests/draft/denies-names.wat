;; Of the draft of line 0.2, whole: it shares no layout with the others. Denies a call whose name begins with `f`, by the rule
;; `draft-rule`, and asks about one that begins with `a`.
(module
  (memory (export "memory") 1)
  (global $heap (mut i32) (i32.const 32768))
  (data (i32.const 16) "draft-guest")
  (data (i32.const 32) "0.2.0")
  (data (i32.const 48) "A guest of the draft.")
  (data (i32.const 72) "draft-rule")
  ;; The description, at 256: name, version, summary, one rule.
  (data (i32.const 256)
    "\10\00\00\00\0b\00\00\00" "\20\00\00\00\05\00\00\00" "\30\00\00\00\15\00\00\00" "\40\01\00\00\01\00\00\00")
  (data (i32.const 320) "\48\00\00\00\0a\00\00\00")
  ;; `ok` of `configure`, at 384, and a verdict that allows, at 512: zeros.
  ;; A verdict that denies, at 576: the decision in 24 bytes, then one finding, at 640.
  (data (i32.const 576) "\02\00\00\00" "\48\00\00\00\0a\00\00\00")
  (data (i32.const 600) "\80\02\00\00\01\00\00\00")
  (data (i32.const 640) "\48\00\00\00\0a\00\00\00" "\03\00\00\00" "\30\00\00\00\15\00\00\00")
  ;; A verdict that asks, at 704: rule, severity, text.
  (data (i32.const 704) "\01\00\00\00" "\48\00\00\00\0a\00\00\00" "\02\00\00\00" "\30\00\00\00\15\00\00\00")
  (func $realloc (export "cabi_realloc") (param i32 i32 i32) (param $new i32) (result i32)
    (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $heap) (i32.const 7)) (i32.const -8)))
    (global.set $heap (i32.add (local.get $at) (local.get $new)))
    (local.get $at))
  (func (export "portcullis:policy/lifecycle@0.2.0#describe") (result i32) (i32.const 256))
  (func (export "portcullis:policy/lifecycle@0.2.0#configure") (param i32 i32) (result i32) (i32.const 384))
  (func (export "portcullis:policy/call-gate@0.2.0#authorize")
    (param $facts i32) (param $count i32) (param i32 i32) (param $name i32) (param $length i32) (param i32 i32)
    (result i32)
    ;; Facts have come: the first is the session, seven bytes long by name.
    (if (i32.ne (i32.load offset=4 (local.get $facts)) (i32.const 7)) (then (unreachable)))
    (if (i32.eq (i32.load8_u (local.get $name)) (i32.const 102)) (then (return (i32.const 576))))
    (if (i32.eq (i32.load8_u (local.get $name)) (i32.const 97)) (then (return (i32.const 704))))
    (i32.const 512)))
