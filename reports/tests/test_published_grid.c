/* Published points in figures: where one stands, and why one has no place. */
#include "reports/figures/figure.h"

#include "reports/tests/published_fixture.h"

static void make_grid(const report_table *table, const report_plot *plot, const char *kind, report_grid *grid)
{
    const report_figure_kind *found = report_figure_kind_find(kind);
    assert_non_null(found);
    if (report_grid_build(table, plot, found, grid) != DIT_OK) fail_msg("%s", dit_error_last()->message);
}

static const report_cell *find_cell(const report_grid *grid, const char *x, const char *series, const char *evidence)
{
    for (int i = 0; i < grid->count; i++) {
        const report_cell *cell = &grid->cells[i];
        bool here = strcmp(cell->x, x) == 0 && strcmp(cell->series, series) == 0;
        if (here && strcmp(cell->kase->evidence, evidence) == 0) return cell;
    }
    return NULL;
}

static void points_stand_where_their_tags_put_them(void **state)
{
    (void)state;
    const report_plot plot = {.title = "t", .x = "world_size", .series = "method", .panel = "resolution"};
    report_table table;
    report_grid grid;
    make_table(&table);
    make_grid(&table, &plot, "latency", &grid);
    assert_int_equal(grid.panel_count, 1);
    assert_int_equal(grid.unplaced_count, 0);
    const report_cell *printed = find_cell(&grid, "2", "ulysses", "published");
    assert_non_null(printed);
    assert_near(printed->bar.part[0], 1.0, 0);
    assert_near(printed->bar.low, 0.99, 1e-12);
    assert_true(printed->shares);
    assert_int_equal(printed->series_index, find_cell(&grid, "2", "ulysses", "simulated")->series_index);
    assert_true(report_cell_is_oom(find_cell(&grid, "4", "ring", "published")));
    assert_true(report_cell_is_oom(find_cell(&grid, "4", "ring", "simulated")));
    assert_non_null(find_cell(&grid, "8", "hybrid", "published"));
    report_grid_release(&grid);
    make_grid(&table, &plot, "communication", &grid); /* nobody printed bytes */
    assert_false(grid.published);
    report_grid_release(&grid);
    report_table_release(&table);
}

static const char *reason_of(const report_grid *grid, int64_t index)
{
    for (int i = 0; i < grid->unplaced_count; i++) {
        if (grid->unplaced[i].point->index == index) return grid->unplaced[i].reason;
    }
    return "placed";
}

static void a_point_without_a_place_says_why(void **state)
{
    (void)state;
    static const made_case elsewhere = {"ulysses", "u2", "512x512", 2, 1.0};
    const report_plot plot = {.title = "t", .x = "world_size", .series = "method", .panel = "resolution"},
                      by_warmup = {.title = "t", .x = "warmup_steps", .series = "method", .panel = "resolution"};
    report_table table;
    report_grid grid;
    dit_buffer lines = {0};
    for (int i = 0; i < CASES; i++) add_simulated(&lines, &cases[i]);
    add_published(&lines, 0, &elsewhere, "");
    dit_buffer_text(&lines, "{\"kind\":\"published\",\"file\":\"f.json\",\"index\":1,\"source\":\"s\",\"metric\":"
                            "\"latency_s\",\"value\":1,\"tags\":{\"method\":\"ring\",\"world_size\":2}}\n");
    dit_buffer_text(&lines, "{\"kind\":\"published\",\"file\":\"f.json\",\"index\":2,\"source\":\"s\",\"metric\":"
                            "\"latency_s\",\"value\":1,\"tags\":{\"method\":\"ring\",\"world_size\":2,\"resolution\":"
                            "\"1024x1024\",\"profile\":\"torch-compile\"}}\n");
    assert_int_equal(fixture_parse("{}", lines.data, &table), DIT_OK);
    make_grid(&table, &plot, "latency", &grid);
    assert_int_equal(grid.unplaced_count, 3);
    assert_false(grid.published);
    assert_contains(reason_of(&grid, 0), "no case stands in 512x512");
    assert_contains(reason_of(&grid, 1), "it says nothing of resolution");
    assert_contains(reason_of(&grid, 2), "the cases of its panel differ in profile");
    report_grid_release(&grid);
    make_grid(&table, &by_warmup, "latency", &grid); /* a tag that no case has keeps no point away */
    assert_int_equal(grid.unplaced_count, 3);
    report_grid_release(&grid);
    const report_plot filtered = {
        .title = "t", .where = "steps == 20", .x = "world_size", .series = "method", .panel = "resolution"};
    make_grid(&table, &filtered, "latency", &grid);
    assert_contains(reason_of(&grid, 1), "where: ");
    report_grid_release(&grid);
    report_table_release(&table);
    dit_buffer_release(&lines);
}

static void the_best_names_its_mesh_and_leaves_the_search_out(void **state)
{
    (void)state;
    const report_plot plot = {
        .title = "t", .x = "world_size", .series = "method", .panel = "resolution", .best = "hybrid"};
    report_table table;
    report_grid grid;
    make_table(&table);
    make_grid(&table, &plot, "latency", &grid);
    const report_cell *best = find_cell(&grid, "4", "hybrid", "simulated");
    assert_true(best->best);
    assert_string_equal(best->kase->case_id, "u2 r2 1024x1024");
    assert_string_equal(find_cell(&grid, "8", "hybrid", "simulated")->kase->case_id, "u8 1024x1024");
    assert_null(find_cell(&grid, "4", "usp", "simulated")); /* a mesh of several axes is the search's alone */
    assert_non_null(find_cell(&grid, "4", "ulysses", "simulated"));
    assert_true(find_cell(&grid, "4", "hybrid", "published")->shares);
    report_grid_release(&grid);
    make_grid(&table, &plot, "speedup", &grid); /* there the most is best */
    assert_string_equal(find_cell(&grid, "4", "hybrid", "simulated")->kase->case_id, "u2 r2 1024x1024");
    report_grid_release(&grid);
    const report_plot by_profile = {
        .title = "t", .x = "world_size", .series = "profile", .panel = "resolution", .best = "hybrid"};
    make_grid(&table, &by_profile, "latency", &grid); /* without methods each series is the best of its own */
    assert_int_equal(grid.series_count, 1);
    assert_string_equal(find_cell(&grid, "4", "pytorch-eager", "simulated")->kase->case_id, "u2 r2 1024x1024");
    report_grid_release(&grid);
    report_table_release(&table);
}

static void pairs_are_held_against_published_and_measured(void **state)
{
    (void)state;
    static const made_case here = {"ulysses", "u2", "1024x1024", 2, 1.0};
    const report_plot plot = {.title = "t", .where = "", .x = "", .series = "method", .panel = "", .pair = "platform"},
                      strict = {.title = "t", .where = "", .x = "", .series = "method", .panel = "", .pair = ""};
    report_table table;
    report_grid grid;
    dit_buffer lines = {0};
    make_session(&lines);
    add_measured(&lines, &here, 6);
    assert_int_equal(fixture_parse("{}", lines.data, &table), DIT_OK);
    make_grid(&table, &plot, "agreement", &grid);
    assert_int_equal(grid.count, 7); /* six printed numbers and one measured twin */
    int measured = 0;
    for (int i = 0; i < grid.count; i++) {
        const report_cell *cell = &grid.cells[i];
        assert_true(report_case_is_simulated(cell->kase));
        assert_true((cell->twin != NULL) != (cell->published != NULL));
        if (cell->twin) {
            assert_near(cell->x_number, 1.0, 1e-6);
            assert_near(cell->bar.part[0], 1.2, 1e-12);
        }
        measured += cell->twin != NULL;
    }
    assert_int_equal(measured, 1);
    report_grid_release(&grid);
    make_grid(&table, &strict, "agreement", &grid); /* its platform may not differ: no twin */
    assert_int_equal(grid.count, 6);
    report_grid_release(&grid);
    report_table_release(&table);
    dit_buffer_release(&lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_stand_where_their_tags_put_them),
        cmocka_unit_test(a_point_without_a_place_says_why),
        cmocka_unit_test(the_best_names_its_mesh_and_leaves_the_search_out),
        cmocka_unit_test(pairs_are_held_against_published_and_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
