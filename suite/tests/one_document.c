/* Reads standard input as one strict JSON document (a second one, or a word behind it, is an error) and prints its
 * "schema"; exits 1 with the reason when there is none. For test_answers.sh. */
#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    enum { MOST = 64 << 20 };
    char *text = malloc(MOST);
    size_t length = text ? fread(text, 1, MOST, stdin) : 0;
    const char *schema = NULL;
    dit_json doc = {0};
    dit_status st = dit_json_parse(text, length, "stdin", &doc);
    if (st == DIT_OK) st = dit_json_require_string(&doc, doc.root, "", "schema", &schema);
    if (st == DIT_OK && strncmp(schema, "ditbench.", 9) != 0)
        st = dit_json_fail(&doc, "/schema", DIT_ERR_JSON_VALUE, "\"%.60s\" is no schema of ditbench", schema);
    if (st == DIT_OK)
        puts(schema);
    else
        printf("%s\n", dit_error_last()->message);
    dit_json_release(&doc);
    free(text);
    return st != DIT_OK;
}
