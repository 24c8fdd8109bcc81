;; A guest that runs a model again and again, on tensors in its own memory. stream.c is the same guest in C.
;;
;; Open dimensions of the model are taken as 1. Every function gives 0 or a status; a failed memory.grow is -1.
(module
  (import "zerobind" "model_open" (func $model_open (param i64 i64 i64) (result i32)))
  (import "zerobind" "model_destroy" (func $model_destroy (param i32) (result i32)))
  (import "zerobind" "model_slot_counts" (func $slot_counts (param i32 i64 i64) (result i32)))
  (import "zerobind" "context_create" (func $context_create (param i32 i64) (result i32)))
  (import "zerobind" "context_resize_input" (func $resize (param i32 i32 i64 i32) (result i32)))
  (import "zerobind" "context_slot_desc" (func $slot_desc (param i32 i32 i64) (result i32)))
  (import "zerobind" "context_requirements" (func $requirements (param i32 i32 i64) (result i32)))
  (import "zerobind" "desc_size" (func $desc_size (param i64 i64) (result i32)))
  (import "zerobind" "infer" (func $infer (param i32 i64 i32) (result i32)))
  (import "zerobind" "last_error" (func $last_error (param i64 i64 i64) (result i32)))

  (memory (export "memory") 1) (global $page i32 (i32.const 65536))

  ;; where calls put their results: model 64, context 68, inputs 72, outputs 76, requirements 80 (size, alignment, slack),
  ;; size 104; the text of an error from 128 to 1152
  (global $top (mut i32) (i32.const 1152))
  (global $loans (mut i32) (i32.const 0))
  (global $descs (mut i32) (i32.const 0))
  (global $count (mut i32) (i32.const 0))

  ;; Memory that is never given back: the address of $size bytes, or 0.
  (func $reserve (export "reserve") (param $size i32) (param $alignment i32) (result i32)
    (local $at i32) (local $missing i32)
    (local.set $at
      (i32.and
        (i32.add (global.get $top) (i32.sub (local.get $alignment) (i32.const 1)))
        (i32.sub (i32.const 0) (local.get $alignment))))
    (local.set $missing
      (i32.sub (i32.add (local.get $at) (local.get $size)) (i32.mul (memory.size) (global.get $page))))
    (if (i32.gt_s (local.get $missing) (i32.const 0))
      (then
        (if (i32.eq (i32.const -1)
              (memory.grow (i32.div_u
                (i32.add (local.get $missing) (i32.sub (global.get $page) (i32.const 1))) (global.get $page))))
          (then (return (i32.const 0))))))
    (global.set $top (i32.add (local.get $at) (local.get $size)))
    (local.get $at))

  ;; The slot of a place in the list: inputs first.
  (func $slot_at (param $index i32) (result i32)
    (if (result i32) (i32.lt_u (local.get $index) (i32.load (i32.const 72)))
      (then (local.get $index))
      (else (i32.or (i32.const 0x80000000) (i32.sub (local.get $index) (i32.load (i32.const 72)))))))

  (func $desc_at (param $index i32) (result i32)
    (i32.add (global.get $descs) (i32.mul (local.get $index) (i32.const 136))))
  (func $loan_at (param $index i32) (result i32)
    (i32.add (global.get $loans) (i32.mul (local.get $index) (i32.const 32))))

  ;; Asks for a slot's shape and makes open dimensions 1; an input that had some is resized.
  (func $choose_shape (param $index i32) (result i32)
    (local $status i32) (local $dim i32) (local $left i32) (local $was_open i32) (local $desc i32)
    (local.set $desc (call $desc_at (local.get $index)))
    (if (i32.ge_u (local.get $index) (i32.load (i32.const 72)))
      (then
        ;; the inputs have their shapes by now, and asking for requirements plans: then more is known of outputs
        (local.set $status (call $requirements
          (i32.load (i32.const 68)) (call $slot_at (local.get $index)) (i64.const 80)))
        (if (local.get $status) (then (return (local.get $status))))))
    (local.set $status (call $slot_desc
      (i32.load (i32.const 68)) (call $slot_at (local.get $index)) (i64.extend_i32_u (local.get $desc))))
    (if (local.get $status) (then (return (local.get $status))))
    (local.set $dim (i32.add (local.get $desc) (i32.const 8)))
    (local.set $left (i32.load offset=4 (local.get $desc)))
    (block $done
      (loop $next
        (br_if $done (i32.eqz (local.get $left)))
        (if (i64.eq (i64.load (local.get $dim)) (i64.const -1))
          (then
            (i64.store (local.get $dim) (i64.const 1))
            (local.set $was_open (i32.const 1))))
        (local.set $dim (i32.add (local.get $dim) (i32.const 8)))
        (local.set $left (i32.sub (local.get $left) (i32.const 1)))
        (br $next)))
    (if (i32.and (local.get $was_open) (i32.lt_u (local.get $index) (i32.load (i32.const 72))))
      (then (return (call $resize
        (i32.load (i32.const 68)) (call $slot_at (local.get $index))
        (i64.extend_i32_u (i32.add (local.get $desc) (i32.const 8))) (i32.load offset=4 (local.get $desc))))))
    (i32.const 0))

  ;; Reserves a slot's tensor and writes its loan.
  (func $make_loan (param $index i32) (result i32)
    (local $status i32) (local $at i32) (local $loan i32) (local $desc i64)
    (local.set $desc (i64.extend_i32_u (call $desc_at (local.get $index))))
    (local.set $loan (call $loan_at (local.get $index)))
    (local.set $status (call $desc_size (local.get $desc) (i64.const 104)))
    (if (local.get $status) (then (return (local.get $status))))
    (local.set $status (call $requirements
      (i32.load (i32.const 68)) (call $slot_at (local.get $index)) (i64.const 80)))
    (if (local.get $status) (then (return (local.get $status))))
    (local.set $at (call $reserve
      (i32.wrap_i64 (i64.add (i64.load (i32.const 104)) (i64.load (i32.const 96)))) ;; size and slack
      (i32.wrap_i64 (i64.load (i32.const 88)))))
    (if (i32.eqz (local.get $at)) (then (return (i32.const -1))))
    (i32.store (local.get $loan) (call $slot_at (local.get $index)))
    (i64.store offset=8 (local.get $loan) (i64.extend_i32_u (local.get $at)))
    (i64.store offset=16 (local.get $loan) (i64.load (i32.const 104)))
    (i64.store offset=24 (local.get $loan) (local.get $desc))
    (i32.const 0))

  ;; Opens the model in $size bytes at $bytes, and makes a context and tensors for it.
  (func (export "setup") (param $bytes i32) (param $size i32) (result i32)
    (local $status i32) (local $index i32)
    (local.set $status (call $model_open
      (i64.extend_i32_u (local.get $bytes)) (i64.extend_i32_u (local.get $size)) (i64.const 64)))
    (if (local.get $status) (then (return (local.get $status))))
    (local.set $status (call $slot_counts (i32.load (i32.const 64)) (i64.const 72) (i64.const 76)))
    (if (local.get $status) (then (return (local.get $status))))
    (local.set $status (call $context_create (i32.load (i32.const 64)) (i64.const 68)))
    (if (local.get $status) (then (return (local.get $status))))
    ;; the context keeps the model
    (local.set $status (call $model_destroy (i32.load (i32.const 64))))
    (if (local.get $status) (then (return (local.get $status))))
    (global.set $count (i32.add (i32.load (i32.const 72)) (i32.load (i32.const 76))))
    (global.set $loans (call $reserve (i32.mul (global.get $count) (i32.const 32)) (i32.const 8)))
    (if (i32.eqz (global.get $loans)) (then (return (i32.const -1))))
    (global.set $descs (call $reserve (i32.mul (global.get $count) (i32.const 136)) (i32.const 8)))
    (if (i32.eqz (global.get $descs)) (then (return (i32.const -1))))
    (block $shaped
      (loop $next
        (br_if $shaped (i32.eq (local.get $index) (global.get $count)))
        (local.set $status (call $choose_shape (local.get $index)))
        (if (local.get $status) (then (return (local.get $status))))
        (local.set $index (i32.add (local.get $index) (i32.const 1)))
        (br $next)))
    (local.set $index (i32.const 0))
    (block $made
      (loop $next
        (br_if $made (i32.eq (local.get $index) (global.get $count)))
        (local.set $status (call $make_loan (local.get $index)))
        (if (local.get $status) (then (return (local.get $status))))
        (local.set $index (i32.add (local.get $index) (i32.const 1)))
        (br $next)))
    (i32.const 0))

  (func (export "grow") (param $pages i32) (result i32) (memory.grow (local.get $pages)))

  ;; One inference, after growing the memory by $pages.
  (func (export "step") (param $pages i32) (result i32)
    (if (local.get $pages)
      (then
        (if (i32.eq (memory.grow (local.get $pages)) (i32.const -1)) (then (return (i32.const -1))))))
    (call $infer (i32.load (i32.const 68)) (i64.extend_i32_u (global.get $loans)) (global.get $count)))

  ;; Where the tensors are, for the host that fills and reads them. $index counts inputs, then outputs.
  (func (export "tensor") (param $index i32) (result i32)
    (i32.wrap_i64 (i64.load offset=8 (call $loan_at (local.get $index)))))
  (func (export "tensor_size") (param $index i32) (result i32)
    (i32.wrap_i64 (i64.load offset=16 (call $loan_at (local.get $index)))))
  (func (export "tensor_count") (result i32) (global.get $count))
  (func (export "input_count") (result i32) (i32.load (i32.const 72)))
  (func (export "context") (result i32) (i32.load (i32.const 68)))
  ;; The text of the last error, at the address that is given back.
  (func (export "error") (result i32)
    (drop (call $last_error (i64.const 128) (i64.const 1024) (i64.const 0)))
    (i32.const 128)))
