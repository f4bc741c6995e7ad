
/* Judges what a server asks of the client. */
void exports_portcullis_policy_request_gate_authorize(facts_t *facts, exports_portcullis_policy_request_gate_request_t *request, verdict_t *ret) {
    (void)facts;
    judge(request->segments.ptr, request->segments.len, ret);
}
