#include "engine/programs/program.h"
static dit_status denoise_run(const dit_program_args *args, bool *skipped) { (void)args; (void)skipped; return DIT_OK; }
const dit_program dit_program_denoise = { .name = "denoise", .help = "text-to-image sampling loop", .run = denoise_run };
