/* Templates to tensors: walks a configuration's tables layer by layer and adds every tensor to the
 * model, under the names and shapes of the repository's safetensors or of llama.cpp's GGUF. */
#include "models/hf.h"
#include "sim/base/vec.h"

/* Where rows are being emitted. */
typedef struct place {
    const hf_cfg *c;
    sw_model *m;
    const uint64_t *dim;
    uint32_t flags;
    bool gguf, unused;  /* unused: whatever the row says (prediction heads) */
    int32_t layer;      /* -1: outside the layers */
    const char *prefix; /* of names in a checkpoint */
} place;

static sw_status too_long(const char *name, sw_error *err) {
    return sw_fail(err, SW_INPUT, "tensor name %.60s… is too long", name);
}

/* Writes prefix, the row's name with '%' as the expert's number, and suffix. */
static sw_status spell(const place *p, const hf_row *r, int32_t expert, const char *suffix,
                       char *buf, sw_error *err) {
    const char *name = r->name, *prefix = p->prefix;
    if (p->layer < 0 && !p->unused) prefix = *name == '^' ? p->c->prefix : p->c->head;
    if (strncmp(name, "^^", 2) == 0) prefix = "", name++; /* a whole name */
    if (*name == '^') name++;
    const char *hole = strchr(name, '%');
    int n = hole ? snprintf(buf, SW_MAX_NAME, "%s%.*s%d%s%s", prefix, (int)(hole - name), name,
                            expert, hole + 1, suffix)
                 : snprintf(buf, SW_MAX_NAME, "%s%s%s", prefix, name, suffix);
    return n < SW_MAX_NAME ? SW_OK : too_long(buf, err);
}

static sw_tensor blank(const place *p, const hf_row *r, const char *name, sw_dtype type) {
    return (sw_tensor){.name = name,
                       .type = type,
                       .role = p->unused ? SW_ROLE_UNUSED : r->role,
                       .layer = p->unused ? -1 : p->layer,
                       .expert = -1,
                       .n_experts = 1};
}

static void set_dims(sw_tensor *t, uint32_t n, uint64_t d0, uint64_t d1, uint64_t d2) {
    t->n_dims = n;
    t->dims[0] = d0, t->dims[1] = n > 1 ? d1 : 0, t->dims[2] = n > 2 ? d2 : 0;
}

/* Shape, innermost first, of the row's main tensor (dims[2]: experts or heads where there are any).
 */
static void shape(const place *p, const hf_row *r, sw_tensor *t) {
    uint64_t rows = p->dim[r->rows], cols = p->dim[r->cols], e = p->dim[D_E];
    switch (r->kind) {
    case K_LIN:
    case K_MAT:
        set_dims(t, 2, cols, rows, 0);
        break;
    case K_LINT:
        p->gguf ? set_dims(t, 2, cols, rows, 0) : set_dims(t, 2, rows, cols, 0);
        break;
    case K_CONV:
        p->gguf ? set_dims(t, 2, cols, rows, 0) : set_dims(t, 3, cols, 1, rows);
        break;
    case K_EXP:
        set_dims(t, 3, cols, rows, e);
        break;
    case K_EXPB:
        set_dims(t, 2, rows, e, 0);
        break;
    case K_HEADS:
        set_dims(t, 3, cols, rows, p->dim[D_HEADS]);
        break;
    case K_RAW:
    case K_RAW32:
        set_dims(t, r->cols == D_1 ? 1 : 2, r->cols == D_1 ? rows : cols, rows, 0);
        break;
    default:
        set_dims(t, 1, rows, 0, 0);
        break;
    }
    if (r->kind == K_EXP || r->kind == K_EXPB) t->n_experts = (uint32_t)e;
}

/* Does a checkpoint's bias follow this row? */
static bool has_bias(const place *p, const hf_row *r) {
    return r->kind == K_LN || (r->bias && (p->flags & r->bias) == r->bias);
}

static bool bare(const hf_row *r) {
    return r->kind == K_RAW || r->kind == K_RAW32 || r->kind == K_EXP || r->kind == K_EXPB;
}

static sw_status emit_checkpoint(const place *p, const hf_row *r, int32_t expert, sw_error *err) {
    char name[SW_MAX_NAME];
    SW_TRY(spell(p, r, expert, "", name, err));
    sw_tensor t = blank(p, r, name, r->kind == K_RAW32 ? SW_F32 : p->c->type);
    t.expert = t.role == SW_ROLE_EXPERT ? expert : -1;
    shape(p, r, &t);
    if (r->kind == K_LIN || r->kind == K_EXP) {
        SW_TRY(sw_hf_store(p->c, p->m, name, &t, err));
    } else {
        if (!bare(r)) SW_TRY(spell(p, r, expert, ".weight", name, err));
        SW_TRY(sw_build_tensor(p->m, &t, true, err));
    }
    if (!has_bias(p, r)) return SW_OK;
    SW_TRY(spell(p, r, expert, ".bias", name, err));
    sw_tensor bias = blank(p, r, name, p->c->type);
    bias.expert = t.expert;
    set_dims(&bias, 1, p->dim[r->rows], 0, 0);
    return sw_build_tensor(p->m, &bias, true, err);
}

/* GGUF: one-dimensional tensors, norms, routers and convolutions stay F32 (convert_hf_to_gguf.py).
 */
static sw_dtype gguf_type(const hf_row *r, const sw_tensor *t, sw_dtype type) {
    bool plain = t->n_dims == 1 || r->kind == K_EXPB || r->kind == K_CONV ||
                 r->role == SW_ROLE_ROUTER || r->rows == D_1 || r->role == SW_ROLE_NORM ||
                 strncmp(r->gguf, "position_embd", 13) == 0 ||
                 strncmp(r->gguf, "token_types", 11) == 0;
    return plain ? SW_F32 : type;
}

static sw_status emit_gguf_one(const place *p, const hf_row *r, const char *base, int n,
                               uint64_t split, sw_error *err) {
    char name[SW_MAX_NAME], blk[32] = "";
    if (p->layer >= 0) snprintf(blk, sizeof blk, "blk.%d.", p->layer);
    const char *suffix = bare(r) && r->kind != K_EXP ? "" : ".weight";
    if (snprintf(name, sizeof name, "%s%.*s%s", blk, n, base, suffix) >= SW_MAX_NAME)
        return too_long(base, err);
    sw_tensor t = blank(p, r, name, p->c->type);
    shape(p, r, &t);
    bool all = strchr(r->name, '%') && t.n_dims == 2;
    if (all) t.dims[t.n_dims++] = p->dim[D_E], t.n_experts = (uint32_t)p->dim[D_E];
    uint64_t *rows = &t.dims[r->kind == K_EXPB || t.n_dims == 1 ? 0 : 1];
    *rows /= split;
    t.type = gguf_type(r, &t, p->c->type);
    SW_TRY(sw_build_tensor(p->m, &t, true, err));
    if (!has_bias(p, r)) return SW_OK;
    snprintf(name, sizeof name, "%s%.*s.bias", blk, n, base);
    sw_tensor bias = blank(p, r, name, SW_F32);
    set_dims(&bias, 1, p->dim[r->rows] / split, 0, 0);
    return sw_build_tensor(p->m, &bias, true, err);
}

static sw_status emit_gguf(const place *p, const hf_row *r, sw_error *err) {
    const char *bar = strchr(r->gguf, '|');
    if (!bar) return emit_gguf_one(p, r, r->gguf, (int)strlen(r->gguf), 1, err);
    SW_TRY(emit_gguf_one(p, r, r->gguf, (int)(bar - r->gguf), 2, err));
    return emit_gguf_one(p, r, bar + 1, (int)strlen(bar + 1), 2, err);
}

static bool wanted(const place *p, const hf_row *r) {
    const char *name = p->gguf ? r->gguf : r->name;
    return *name && (p->flags & r->need) == r->need && p->dim[r->rows] && p->dim[r->cols];
}

static sw_status emit_table(const place *p, const hf_row *rows, sw_error *err) {
    for (const hf_row *r = rows; r && r->kind != K_END; r++) {
        if (!wanted(p, r)) continue;
        if (p->gguf) {
            SW_TRY(emit_gguf(p, r, err));
        } else if (!strchr(r->name, '%')) {
            SW_TRY(emit_checkpoint(p, r, -1, err));
        } else {
            /* Experts: all of one expert's tensors, then the next one's. */
            const hf_row *end = r;
            while (end[1].kind != K_END && strchr(end[1].name, '%')) end++;
            for (uint64_t e = 0; e < p->dim[D_E]; e++)
                for (const hf_row *x = r; x <= end; x++)
                    if (wanted(p, x)) SW_TRY(emit_checkpoint(p, x, (int32_t)e, err));
            r = end;
        }
    }
    return SW_OK;
}

/* The layer's number in place of "%u". */
static void spell_number(const char *pattern, uint32_t i, char out[64]) {
    const char *hole = strstr(pattern, "%u");
    if (hole)
        snprintf(out, 64, "%.*s%u%s", (int)(hole - pattern), pattern, i, hole + 2);
    else
        snprintf(out, 64, "%s", pattern);
}

static sw_status emit_layer(const hf_cfg *c, bool gguf, uint32_t i, bool unused, sw_model *m,
                            sw_error *err) {
    char prefix[128], layer[64];
    hf_plan plan;
    bool own = unused && c->arch->mtp_prefix;
    sw_hf_plan(c, i, &plan);
    spell_number(own ? c->arch->mtp_prefix : c->arch->layer, own ? i - (uint32_t)c->layers : i,
                 layer);
    snprintf(prefix, sizeof prefix, "%s%s", own ? "" : c->prefix, layer);
    place p = {c, m, plan.dim, plan.flags, gguf, unused, unused ? -1 : (int32_t)i, prefix};
    if (!unused) m->layers[i] = plan.geo;
    SW_TRY(emit_table(&p, plan.norms, err));
    SW_TRY(emit_table(&p, plan.attn, err));
    SW_TRY(emit_table(&p, plan.ffn, err));
    SW_TRY(emit_table(&p, plan.extra, err));
    return unused ? emit_table(&p, c->arch->mtp, err) : SW_OK;
}

sw_status sw_hf_emit(const hf_cfg *c, bool gguf, sw_model *m, sw_error *err) {
    SW_TRY(sw_build_layers(m, (uint64_t)c->layers, err));
    hf_plan plan;
    sw_hf_plan(c, 0, &plan);
    place outside = {c, m, plan.dim, plan.flags, gguf, false, -1, c->prefix};
    SW_TRY(emit_table(&outside, c->arch->head, err));
    for (uint32_t i = 0; i < c->layers; i++) SW_TRY(emit_layer(c, gguf, i, false, m, err));
    /* Prediction layers: llama.cpp's conversion leaves them out. */
    int64_t n = c->mtp * (c->arch->mtp_layers ? c->arch->mtp_layers : 1);
    bool mtp = (c->arch->mtp || c->arch->mtp_prefix) && !gguf;
    for (int64_t k = 0; mtp && k < n; k++)
        SW_TRY(emit_layer(c, gguf, (uint32_t)(c->layers + k), true, m, err));
    return SW_OK;
}
