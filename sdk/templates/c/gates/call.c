
/* Judges a call before anything is sent. */
void exports_portcullis_policy_call_gate_authorize(facts_t *facts, exports_portcullis_policy_call_gate_call_t *call, verdict_t *ret) {
    (void)facts;
    judge(call->segments.ptr, call->segments.len, ret);
}
