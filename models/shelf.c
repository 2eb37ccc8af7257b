/* The open files of a machine: finding a part's file by its name, and the defaults (models/part.h).
 */
#include "models/shelf.h"
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void sw_shelf_open(sw_shelf *s, const char *dir, const char *data_dir) {
    memset(s, 0, sizeof *s);
    s->dir = dir && *dir ? dir : ".";
    s->data_dir = data_dir && *data_dir ? data_dir : ".";
}

void sw_shelf_close(sw_shelf *s) {
    for (size_t i = 0; i < s->files.n; i++) {
        sw_yaml_free(s->files.v[i].doc);
        free(s->files.v[i].path);
        free(s->files.v[i].id);
    }
    sw_vec_free(&s->files);
}

static const char *folder(sw_part_kind kind) {
    return kind == SW_PART_RUNTIME ? "models/runtimes" : "models/devices";
}

static bool ends_in_yaml(const char *name) {
    size_t n = strlen(name);
    return n > 5 && !strcmp(name + n - 5, ".yaml");
}

/* "no such device", with the nearest of those that there are. */
static sw_status unknown(sw_shelf *s, sw_part_kind kind, const sw_node *name, const char *key,
                         sw_error *err) {
    char path[1024];
    SW_VEC(char *) names = {0};
    snprintf(path, sizeof path, "%s/%s", s->data_dir, folder(kind));
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '_' || e->d_name[0] == '.' || !ends_in_yaml(e->d_name)) continue;
        char *copy = sw_strdup(e->d_name);
        if (!copy) break;
        copy[strlen(copy) - 5] = '\0';
        if (!sw_vec_push(&names, copy)) {
            free(copy);
            break;
        }
    }
    const char *what = kind == SW_PART_RUNTIME ? "runtime" : "device";
    const char *near = sw_nearest(name->text, (const char *const *)names.v, names.n);
    sw_status status;
    if (!d)
        status = sw_fail_at(err, SW_INPUT, name->mark, key, "no %s \"%s\": there is no folder %s",
                            what, name->text, path);
    else if (near)
        status = sw_fail_at(err, SW_INPUT, name->mark, key, "no %s \"%s\"; did you mean \"%s\"?",
                            what, name->text, near);
    else
        status = sw_fail_at(err, SW_INPUT, name->mark, key, "no %s \"%s\" in %s", what, name->text,
                            path);
    if (d) closedir(d);
    for (size_t i = 0; i < names.n; i++) free(names.v[i]);
    sw_vec_free(&names);
    return status;
}

static sw_status load(sw_shelf *s, const char *path, const char *id, const sw_shelf_file **out,
                      sw_error *err) {
    for (size_t i = 0; i < s->files.n; i++)
        if (!strcmp(s->files.v[i].path, path)) {
            *out = &s->files.v[i];
            return SW_OK;
        }
    sw_shelf_file f = {sw_strdup(path), sw_strdup(id), NULL};
    sw_status status = f.path && f.id && sw_vec_reserve(&s->files, s->files.n + 1)
                           ? sw_yaml_load(path, &f.doc, err)
                           : sw_fail(err, SW_MEMORY, "no memory for %s", path);
    if (status == SW_OK && sw_yaml_root(f.doc)->kind != SW_NODE_MAP) {
        status = sw_fail_at(err, SW_INPUT, sw_yaml_root(f.doc)->mark, NULL, "a map is due");
        sw_yaml_free(f.doc);
    }
    if (status != SW_OK) {
        free(f.path);
        free(f.id);
        return status;
    }
    s->files.v[s->files.n] = f;
    *out = &s->files.v[s->files.n++];
    return SW_OK;
}

sw_status sw_shelf_find(sw_shelf *s, sw_part_kind kind, const sw_node *name, const char *key,
                        const sw_node **root, const char **id, sw_error *err) {
    const char *text;
    SW_TRY(sw_node_str(name, key, &text, err));
    char path[1024];
    bool file = strchr(text, '/') || ends_in_yaml(text);
    int n = file ? snprintf(path, sizeof path, "%s%s%s", *text == '/' ? "" : s->dir,
                            *text == '/' ? "" : "/", text)
                 : snprintf(path, sizeof path, "%s/%s/%s.yaml", s->data_dir, folder(kind), text);
    if (n < 0 || (size_t)n >= sizeof path || !*text)
        return sw_fail_at(err, SW_INPUT, name->mark, key, "not a file name");
    if (access(path, R_OK)) {
        if (file)
            return sw_fail_at(err, SW_INPUT, name->mark, key, "cannot read the file %s", path);
        return unknown(s, kind, name, key, err);
    }
    const sw_shelf_file *f;
    SW_TRY(load(s, path, text, &f, err));
    const char *format = kind == SW_PART_RUNTIME ? "runtime/1" : "device/1", *found;
    const sw_node *node;
    *root = sw_yaml_root(f->doc);
    *id = f->id;
    SW_TRY(sw_node_need(*root, "spillway", &node, err));
    SW_TRY(sw_node_str(node, "spillway", &found, err));
    if (strcmp(found, format))
        return sw_fail_at(err, SW_INPUT, node->mark, "spillway", "\"%s\" where \"%s\" is due",
                          found, format);
    return SW_OK;
}

sw_status sw_shelf_defaults(sw_shelf *s, const sw_node **root, sw_error *err) {
    char path[1024];
    const sw_shelf_file *f;
    snprintf(path, sizeof path, "%s/models/devices/_defaults.yaml", s->data_dir);
    SW_TRY(load(s, path, "_defaults", &f, err));
    *root = sw_yaml_root(f->doc);
    return SW_OK;
}
