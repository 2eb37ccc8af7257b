/* Do the tensors that we derive from a configuration add up to what the repository's files hold?
 *
 * Counts of parameters: the models' papers and cards, or the sum over the repository's safetensors
 * as its page shows it. Bytes and numbers of tensors: metadata.total_size of the repository's
 * index, except DeepSeek V3's (91,991 tensors of 688,574,839,360 bytes, listed tensor by tensor in
 * a public conversion report). */
#include "models.h"

typedef struct row {
    const char *name;
    uint64_t params, bytes, tensors; /* 0: not known from outside */
} row;

static const row networks[] = {
    {"llama-2-7b", 6738415616, 13476831232, 291},
    {"llama-2-13b", 13015864320, 26031728640, 363},
    {"llama-2-70b", 68976648192, 137953296384, 723},
    {"llama-3-8b", 8030261248, 16060522496, 291},
    {"llama-3-70b", 70553706496, 141107412992, 723},
    {"llama-3.1-8b", 8030261248, 16060522496, 291},
    {"llama-3.1-405b", 405853388800, 811706777600, 1137},
    {"llama-3.2-1b", 1235814400, 2471628800, 146},
    {"llama-3.2-3b", 3212749824, 6425499648, 254},
    {"llama-4-scout", 107769861120, 0, 0},
    {"llama-4-maverick", 400711848960, 0, 0},
    {"mistral-7b-v0.1", 7241732096, 14483464192, 291},
    {"mistral-7b", 7248023552, 14496047104, 291},
    {"mistral-small-24b", 23572403200, 47144806400, 363},
    {"mixtral-8x7b", 46702792704, 93405585408, 995},
    {"mixtral-8x22b", 140620634112, 281241268224, 1739},
    {"qwen2.5-0.5b", 494032768, 988065536, 290},
    {"qwen2.5-7b", 7615616512, 15231233024, 339},
    {"qwen2.5-14b", 14770033664, 29540067328, 579},
    {"qwen2.5-32b", 32763876352, 65527752704, 771},
    {"qwen2.5-72b", 72706203648, 145412407296, 963},
    {"qwen3-8b", 8190735360, 16381470720, 399},
    {"qwen3-14b", 14768307200, 29536614400, 443},
    {"qwen3-32b", 32762123264, 65524246528, 707},
    {"qwen3-30b-a3b", 30532122624, 61064245248, 18867},
    {"qwen3-235b-a22b", 235093634560, 470187269120, 36945},
    {"qwen3-coder-480b-a35b", 480154875392, 960309750784, 30321},
    {"qwen1.5-moe-a2.7b", 14315784192, 28631568384, 4659},
    {"gpt-oss-20b", 20914757184, 13761264768, 459},
    {"gpt-oss-120b", 116829156672, 65248815744, 687},
    {"deepseek-v2-lite", 15706484224, 31412968448, 5291},
    {"deepseek-v2", 235741434880, 471482869760, 29102},
    {"deepseek-v3", 684489845504, 688574839360, 91991},
    {"deepseek-r1", 684489845504, 688574839360, 91991},
    {"kimi-k2", 1026408232448, 0, 0},
    {"glm-4-9b", 9400279040, 18800558080, 523},
    {"glm-4.5", 358337791296, 716675611392, 0},
    {"glm-4.5-air", 110468824832, 0, 0},
    {"gemma-2-2b", 2614341888, 5228683776, 288},
    {"gemma-2-9b", 9241705984, 18483411968, 464},
    {"gemma-2-27b", 27227128320, 54454256640, 508},
    {"gemma-3-1b", 999885952, 1999771904, 340},
    {"gemma-3-27b", 27009346304, 0, 0},
    {"phi-2", 2779683840, 5559367680, 453},
    {"phi-3-mini", 3821079552, 7642159104, 195},
    {"phi-3-medium", 13960238080, 27920476160, 243},
    {"phi-4", 14659507200, 29319014400, 243},
    {"olmoe-1b-7b", 6919161856, 13838323712, 3219},
    {"olmo-2-7b", 7298617344, 29194469376, 355},
    {"gpt2", 124439808, 0, 148},
    {"gpt2-xl", 1557611200, 0, 580},
    {"gpt-j-6b", 6050882784, 0, 0},
    {"opt-125m", 125239296, 0, 0},
    {"opt-6.7b", 6658473984, 0, 0},
    {"opt-13b", 12853473280, 0, 0},
    {"opt-30b", 29974540288, 0, 0},
    {"bloom-176b", 176247271424, 352494542848, 845},
    {"falcon-7b", 6921720704, 0, 0},
    {"falcon-180b", 179522565120, 359045130240, 644},
    {"qwen-72b", 72287920128, 144575840256, 643},
};

/* The same from config.json files. Figures of the second kind are this code's own, kept against
 * change. */
static const row configs[] = {
    {"bert-base-cased.json", 108310272, 0, 199},
    {"nvidia_NVIDIA-Nemotron-3-Nano-30B-A3B-BF16.json", 31577940288, 0, 6243},
    {"nvidia_Nemotron-H-56B-Base-8K.json", 56324350464, 112648700928, 701},
    {"nvidia_NVIDIA-Nemotron-3-Super-120B-A12B-FP8.json", 123611033088, 0, 42683},
    {"nvidia_NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16.json", 560524603904, 0, 51023},
    {"nvidia_NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4.json", 32913266240, 0, 6513},
    {"google_gemma-4-26B-A4B.json", 25233142046 - 256, 0, 657}, /* the GGUF less rope_freqs */
    {"zai-org_GLM-5.json", 753864139008, 1507728316928, 59870},
    {"zai-org_GLM-5.2.json", 753329940480, 1506659919872, 59585},
    {"deepseek-ai_DeepSeek-V3.json", 684489845504, 688574839360, 91991},
    {"deepseek-ai_DeepSeek-V3.2.json", 685355329792, 689468986496, 92425},
    {"moonshotai_Kimi-K2.5.json", 1026408232448, 594205904896, 208215},
    {"nvidia_Kimi-K2.7-Code-NVFP4.json", 1026408232448, 594205904896, 277335},
    {"nvidia_MiniMax-M2.7-NVFP4.json", 228689764864, 134401757184, 191087},
    {"nvidia_Qwen3.5-122B-A10B-NVFP4.json", 124635206144, 82572289024, 148210},
    {"Qwen_Qwen3.5-122B-A10B.json", 124635206144, 249270412288, 850},
    {"Qwen_Qwen3.5-397B-A17B.json", 402941918464, 805883836928, 1057},
    {"Qwen_Qwen3-30B-A3B-FP8.json", 30532122624, 31174545408, 37491},
    {"Qwen_Qwen3-VL-30B-A3B-Instruct.json", 30532122624, 61064245248, 531},
    {"XiaomiMiMo_MiMo-V2-Flash.json", 308778780864, 310153470592, 72814},
    {"openai_gpt-oss-20b.json", 20914757184, 13761264768, 459},
};

static void check_row(const row *r, sw_model *m) {
    CHECK(m != NULL);
    if (!m) return;
    bool ok = m->params == r->params && (!r->bytes || m->bytes == r->bytes) &&
              (!r->tensors || m->n_tensors == r->tensors);
    CHECK(ok);
    if (!ok)
        printf("\n  %s: %llu params, %llu bytes, %llu tensors\n", r->name,
               (unsigned long long)m->params, (unsigned long long)m->bytes,
               (unsigned long long)m->n_tensors);
    sw_model_free(m);
}

static void counts_of_networks(void) {
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        check_row(&networks[i], open_network(networks[i].name, ""));
}

static void counts_of_configs(void) {
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        char flow[256];
        snprintf(flow, sizeof flow, "{config: %s}", configs[i].name);
        check_row(&configs[i], open_map(flow, NULL));
    }
}

/* 671,026,419,200 are DeepSeek V3's own; the rest of its file is the prediction head. */
static void prediction_head_apart(void) {
    sw_model *m = open_network("deepseek-v3", "");
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    uint64_t unused = 0;
    for (uint64_t i = 0; i < m->n_tensors; i++)
        if (m->tensors[i].role == SW_ROLE_UNUSED) unused += m->tensors[i].elems;
    CHECK_INT(m->params - unused, 671026419200);
    CHECK(m->active_params > 36e9 && m->active_params < 38e9);
    sw_model_free(m);
}

static void active_parameters(void) {
    static const struct {
        const char *name;
        double billion;
    } rows[] = {{"mixtral-8x7b", 12.7}, {"qwen3-30b-a3b", 3.04},   {"qwen3-235b-a22b", 21.6},
                {"gpt-oss-120b", 5.13}, {"llama-4-scout", 16.14},  {"glm-4.5", 32.9},
                {"olmoe-1b-7b", 1.18},  {"deepseek-v2-lite", 2.45}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sw_model *m = open_network(rows[i].name, "");
        CU_ASSERT_PTR_NOT_NULL_FATAL(m);
        CHECK_REL((double)m->active_params / 1e9, rows[i].billion, 0.01);
        sw_model_free(m);
    }
}

/* Every byte belongs to one part: the parts of all layers, embedding, output and unused make up the
 * whole. */
static void parts_make_the_whole(void) {
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        sw_model *m = open_network(networks[i].name, "");
        CU_ASSERT_PTR_NOT_NULL_FATAL(m);
        uint64_t sum =
            m->embed_bytes + m->unused_bytes + m->output_bytes - (m->tied ? m->embed_bytes : 0);
        for (uint32_t l = 0; l < m->n_layers; l++) {
            const sw_layer *x = &m->layers[l];
            uint64_t n = x->ffn == SW_FFN_MOE ? x->n_experts : 1;
            sum += x->attn_bytes + x->mlp_bytes + x->shared_bytes + x->router_bytes +
                   n * x->expert_bytes;
        }
        CHECK_INT(sum, m->bytes);
        sw_model_free(m);
    }
}

SW_TESTS("models: counts", {"networks hold the published parameters and bytes", counts_of_networks},
         {"configurations hold theirs", counts_of_configs},
         {"DeepSeek V3 without its prediction head", prediction_head_apart},
         {"parameters active for a token", active_parameters},
         {"the parts make the whole", parts_make_the_whole})
