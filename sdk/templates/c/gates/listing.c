
/* Judges what a server offers: one verdict an item, in order. */
void exports_portcullis_policy_listing_gate_scan(facts_t *facts, exports_portcullis_policy_listing_gate_batch_t *batch, exports_portcullis_policy_listing_gate_list_verdict_t *ret) {
    (void)facts;
    ret->len = batch->items.len;
    ret->ptr = take_memory(ret->len * sizeof *ret->ptr);
    for (size_t i = 0; i < batch->items.len; i++) judge(batch->items.ptr[i].segments.ptr, batch->items.ptr[i].segments.len, &ret->ptr[i]);
}
