
/* Names the variables that a server does not get. */
void exports_portcullis_policy_environment_gate_select(facts_t *facts, exports_portcullis_policy_environment_gate_subject_t *subject, exports_portcullis_policy_environment_gate_selection_t *ret) {
    (void)facts;
    texts_t removed = {NULL, 0};
    findings_t findings = {NULL, 0};
    for (size_t i = 0; i < subject->offered.len; i++) {
        text_t name = subject->offered.ptr[i].name;
        for (size_t j = 0; j < words.len; j++) {
            if (text_find(name, words.ptr[j], 0) == name.len) continue;
            texts_add(&removed, name);
            add_finding(&findings, RULE, HIGH, MESSAGE, NULL);
            break;
        }
    }
    ret->removed = removed;
    ret->findings.ptr = findings.ptr;
    ret->findings.len = findings.len;
    ret->extensions = text("{}");
}
