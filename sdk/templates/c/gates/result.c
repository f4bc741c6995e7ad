
/* Judges what is on its way to the model. Keys of objects are judged and cannot be edited. */
void exports_portcullis_policy_result_gate_sanitize(facts_t *facts, exports_portcullis_policy_result_gate_subject_t *subject, verdict_t *ret) {
    (void)facts;
    allow(ret);
    find_words(subject->segments.ptr, subject->segments.len, &ret->findings);
    for (size_t i = 0; i < ret->findings.len; i++) {
        portcullis_policy_types_span_t at = ret->findings.ptr[i].evidence.ptr[0];
        if (!subject->segments.ptr[at.segment].key) add_blank(ret, RULE, (span_t){at.segment, at.start, at.end});
    }
}
