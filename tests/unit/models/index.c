/* Are our tensor lists, name for name, those of real repositories' index files?
 *
 * The digests (FNV-1a over the sorted names, each ended by a line feed) were taken from the
 * index.json files of bloom-176b, falcon-180b-chat, qwen-72b and wizardlm2-8x22b; where those files
 * are at hand they are read too. */
#include "models.h"
#include "sim/base/json.h"

typedef struct row {
    const char *name, *flow;
    uint64_t tensors, total_size, digest;
} row;

static const row rows[] = {
    {"bloom-176b", "{network: bloom-176b}", 845, 352494542848, 0xe171b3f822771bc8u},
    {"falcon-180b-chat", "{network: falcon-180b}", 644, 359045130240, 0xbc2613b84c4c9958u},
    {"qwen-72b", "{network: qwen-72b}", 643, 144575840256, 0x7cac602c840d0a6cu},
    {"wizardlm2-8x22b", "{config: wizardlm2-8x22b.json}", 1739, 281241268224, 0x16bc0b19c25413c5u},
};

static uint64_t digest_of(const sw_model *m) {
    sw_names names;
    uint64_t h = 0xcbf29ce484222325u;
    CU_ASSERT_EQUAL_FATAL(sw_names_open(m, &names, NULL), SW_OK);
    for (size_t i = 0; i < names.n; i++) {
        for (const char *c = names.sorted[i]->name; *c; c++) h = (h ^ (uint8_t)*c) * 0x100000001b3u;
        h = (h ^ '\n') * 0x100000001b3u;
    }
    sw_names_close(&names);
    return h;
}

static void digests(void) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sw_model *m = open_map(rows[i].flow, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(m);
        CHECK_INT(m->n_tensors, rows[i].tensors);
        CHECK_INT(m->bytes, rows[i].total_size);
        CHECK_INT(digest_of(m), rows[i].digest);
        sw_model_free(m);
    }
}

/* The file's own text; one of them has the leftovers of a merge behind its first object. */
static json_t *load_index(const char *name) {
    char path[512];
    json_error_t why;
    snprintf(path, sizeof path,
             "%s/../shared/data/inputs/model_index/%s.model.safetensors.index.json",
             SPILLWAY_SOURCE_DIR, name);
    return json_load_file(path, JSON_DISABLE_EOF_CHECK, &why);
}

static void index_files(void) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *doc = load_index(rows[i].name);
        if (!doc) {
            printf("skipped %s (not at hand) ", rows[i].name);
            continue;
        }
        sw_model *m = open_map(rows[i].flow, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(m);
        const json_t *map = json_object_get(doc, "weight_map");
        CHECK_INT(json_object_size(map), m->n_tensors);
        for (uint64_t t = 0; t < m->n_tensors; t++)
            CHECK(json_object_get(map, m->tensors[t].name) != NULL);
        CHECK_INT((uint64_t)json_integer_value(
                      json_object_get(json_object_get(doc, "metadata"), "total_size")),
                  m->bytes);
        sw_model_free(m);
        json_decref(doc);
    }
}

SW_TESTS("models: index files", {"names and bytes of four repositories", digests},
         {"the files themselves", index_files})
