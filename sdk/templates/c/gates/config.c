
/* Judges a server entry before anything is started. */
void exports_portcullis_policy_config_gate_screen(facts_t *facts, exports_portcullis_policy_config_gate_entry_t *entry, verdict_t *ret) {
    (void)facts;
    judge(entry->segments.ptr, entry->segments.len, ret);
}
