/* What the ranks of a record say together: counts of each kind, the digest of the plan, hosts. */
#include "reports/records/gate.h"
#include "reports/records/ranks.h"

#include "base/tests/test.h"

static dit_json doc;
static cJSON *counts;
static char *hosts;

static int tear_down(void **state)
{
    (void)state;
    cJSON_Delete(counts);
    free(hosts);
    dit_json_release(&doc);
    counts = NULL;
    hosts = NULL;
    return 0;
}

static dit_status read_all(const char *record)
{
    tear_down(NULL);
    assert_ok(dit_json_parse(record, strlen(record), "record", &doc));
    DIT_TRY(report_counts_read(&doc, doc.root, "", &counts));
    return report_hosts_read(&doc, doc.root, "", &hosts);
}

#define ROW(axis, bytes, messages)                                                                                     \
    "{\"axis\":\"" axis "\",\"collective\":\"send_recv\",\"phase\":\"step\",\"bytes\":" bytes                          \
    ",\"messages\":" messages "}"
#define RANKS(a, b) "{\"ranks\":[{" a "},{" b "}]}"
#define SENDS(rows) "\"communication\":[" rows "]"

static double count_of(const char *key)
{
    return dit_json_number_or(counts, key, -1);
}

static void ranks_are_added_up(void **state)
{
    (void)state;
    assert_ok(read_all(RANKS(SENDS(ROW("ring", "10", "1")), SENDS(ROW("ring", "32", "2") "," ROW("cfg", "5", "1")))));
    assert_near(count_of("communication_bytes/ring/send_recv/step"), 42, 0);
    assert_near(count_of("communication_messages/ring/send_recv/step"), 3, 0);
    assert_near(count_of("communication_bytes/cfg/send_recv/step"), 5, 0);
    assert_ok(read_all("{\"operator_calls\":{\"linear\":7,\"copy\":2}}"));
    assert_near(count_of("operator_calls/linear"), 7, 0);
    assert_ok(read_all("{}"));
    assert_null(counts);
}

static void the_plan_knows_which_rank_sends(void **state)
{
    (void)state;
    char first[64], second[64];
    assert_ok(read_all(RANKS(SENDS(ROW("ring", "10", "1")), SENDS(ROW("ring", "20", "1")))));
    snprintf(first, sizeof first, "%s", dit_json_text_or(counts, REPORT_COUNTS_PLAN, ""));
    assert_ok(read_all(RANKS(SENDS(ROW("ring", "20", "1")), SENDS(ROW("ring", "10", "1")))));
    snprintf(second, sizeof second, "%s", dit_json_text_or(counts, REPORT_COUNTS_PLAN, ""));
    assert_near(count_of("communication_bytes/ring/send_recv/step"), 30, 0);
    assert_int_equal(strlen(first), 32);
    assert_string_not_equal(first, second);
}

static void hosts_are_named_once(void **state)
{
    (void)state;
    assert_ok(read_all("{\"ranks\":[{\"host\":\"n2\"},{\"host\":\"n1\"},{\"host\":\"n2\"},{\"host\":\"n\"}]}"));
    assert_string_equal(hosts, "n2\nn1\nn\n");
    assert_ok(read_all("{\"ranks\":[{\"host\":\"n2\"},{}]}"));
    assert_null(hosts);
    assert_ok(read_all("{\"ranks\":[{\"host\":\"n 2\"}]}")); /* nothing that a list or a terminal takes for more */
    assert_null(hosts);
    assert_ok(read_all("{\"ranks\":[{\"host\":\"n\\n2\"}]}"));
    assert_null(hosts);
}

static void what_no_engine_writes_is_refused(void **state)
{
    (void)state;
    char many[20000] = "{\"operator_calls\":{";
    for (int i = 0; i < 300; i++) sprintf(many + strlen(many), "%s\"operator%d\":1", i ? "," : "", i);
    strcat(many, "}}");
    assert_fails(read_all(many), DIT_ERR_JSON_VALUE, "more than 256 kinds");
    assert_fails(read_all(RANKS(SENDS("3"), "")), DIT_ERR_JSON_TYPE, "/ranks/0/communication/0");
    assert_fails(read_all("{\"ranks\":[3]}"), DIT_ERR_JSON_TYPE, "/ranks/0");
    assert_fails(read_all(RANKS(SENDS(ROW("ring", "-1", "1")), "")), DIT_ERR_JSON_VALUE, "bytes");
    assert_fails(read_all("{\"operator_calls\":{\"linear\":\"x\"}}"), DIT_ERR_JSON_TYPE, "linear");
    assert_fails(read_all("{\"ranks\":[{\"host\":3}]}"), DIT_ERR_JSON_TYPE, "/ranks/0/host");
}

/* ---- rules ------------------------------------------------------------------------------------------------------- */

static void a_metric_without_a_rule_is_judged_by_the_table(void **state)
{
    (void)state;
    report_gate gate;
    assert_ok(read_all("{\"gate\":[{\"metric\":\"flops\",\"better\":\"lower\",\"margin\":2}]}"));
    assert_ok(report_gate_read(&doc, doc.root, "", &gate));
    assert_int_equal(gate.count, 1);
    report_gate_rule flops = report_gate_rule_of(&gate, REPORT_FLOPS);
    assert_true(flops.named && flops.better == REPORT_BETTER_LOWER);
    assert_near(flops.margin, 0.02, 1e-15);
    report_gate_rule psnr = report_gate_rule_of(&gate, REPORT_PSNR);
    assert_true(!psnr.named && psnr.better == REPORT_BETTER_HIGHER && isnan(psnr.margin));
    assert_ok(report_gate_read(&doc, NULL, "", &gate));
    assert_int_equal(gate.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_are_added_up),
        cmocka_unit_test(the_plan_knows_which_rank_sends),
        cmocka_unit_test(hosts_are_named_once),
        cmocka_unit_test(what_no_engine_writes_is_refused),
        cmocka_unit_test(a_metric_without_a_rule_is_judged_by_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
