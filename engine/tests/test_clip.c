/* Clips: what is written is read back by libavcodec with its frames, size and case; a build without it says what to install. */
#include "engine/files/clip.h"

#include "base/tests/test.h"

#include <sys/stat.h>

enum { WIDTH = 64, HEIGHT = 48, FRAMES = 7, BYTES = WIDTH * HEIGHT * 3 };

static char folder[TEST_FOLDER];

static int make_folder(void **state)
{
    (void)state;
    return test_folder_make(folder);
}

static int remove_folder(void **state)
{
    (void)state;
    return test_folder_remove(folder);
}

static const char *path_of(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static bool exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

static const dit_picture_text texts[] = {{"Software", "x"}, {"ditbench.case", "{\"a\":1}"}};

/* Slopes that move, because noise is what such codecs throw away. */
static dit_picture some_clip(void)
{
    static uint8_t rgb[FRAMES * BYTES];
    for (int i = 0; i < FRAMES * BYTES; i++) {
        int c = i % 3, x = i / 3 % WIDTH, y = i / 3 / WIDTH % HEIGHT, f = i / BYTES;
        rgb[i] = (uint8_t)(40 + x * 2 + y + f * 3 + c * 8);
    }
    return (dit_picture){.width = WIDTH,
                         .height = HEIGHT,
                         .frames = FRAMES,
                         .frames_per_s = 8,
                         .rgb = rgb,
                         .texts = texts,
                         .text_count = 2};
}

static void names_go_both_ways(void **state)
{
    dit_clip_format format;
    (void)state;
    for (int i = 0; i < DIT_CLIP_COUNT; i++) {
        assert_true(dit_clip_from_name(dit_clip_name((dit_clip_format)i), &format));
        assert_int_equal(format, i);
    }
    assert_false(dit_clip_from_name("gif", &format));
}

#ifdef DITBENCH_LIBAV

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libswscale/swscale.h>

typedef struct {
    AVFormatContext *file;
    AVCodecContext *codec;
    AVFrame *frame;
    AVPacket *packet;
    struct SwsContext *colours;
    int frames;
    double squared;
} reading;

static void take_frames(reading *r, const uint8_t *expected)
{
    static uint8_t rgb[BYTES];
    while (avcodec_receive_frame(r->codec, r->frame) == 0) {
        uint8_t *to = rgb;
        const int stride = WIDTH * 3;
        assert_int_equal(r->frame->width, WIDTH);
        assert_int_equal(r->frame->height, HEIGHT);
        sws_scale(r->colours, (const uint8_t *const *)r->frame->data, r->frame->linesize, 0, HEIGHT, &to, &stride);
        assert_in_range(r->frames, 0, FRAMES - 1);
        for (int i = 0; i < BYTES; i++) r->squared += pow(rgb[i] - expected[r->frames * BYTES + i], 2);
        r->frames++;
    }
}

static void read_clip(const char *path, const dit_picture *clip)
{
    reading r = {.frame = av_frame_alloc(), .packet = av_packet_alloc()};
    assert_int_equal(avformat_open_input(&r.file, path, NULL, NULL), 0);
    assert_true(avformat_find_stream_info(r.file, NULL) >= 0);
    const AVCodecParameters *parameters = r.file->streams[0]->codecpar;
    r.codec = avcodec_alloc_context3(avcodec_find_decoder(parameters->codec_id));
    assert_non_null(r.codec);
    assert_true(avcodec_parameters_to_context(r.codec, parameters) >= 0 && avcodec_open2(r.codec, NULL, NULL) >= 0);
    r.colours =
        sws_getContext(WIDTH, HEIGHT, r.codec->pix_fmt, WIDTH, HEIGHT, AV_PIX_FMT_RGB24, SWS_BICUBIC, NULL, NULL, NULL);
    while (av_read_frame(r.file, r.packet) >= 0) {
        assert_int_equal(avcodec_send_packet(r.codec, r.packet), 0);
        av_packet_unref(r.packet);
        take_frames(&r, clip->rgb);
    }
    avcodec_send_packet(r.codec, NULL);
    take_frames(&r, clip->rgb);
    assert_int_equal(r.frames, FRAMES);
    double psnr = 10 * log10(255.0 * 255.0 / (r.squared / (FRAMES * BYTES)));
    if (psnr < 30) fail_msg("%s: PSNR %.1f dB", path, psnr);
    const AVDictionaryEntry *comment = av_dict_get(r.file->metadata, "comment", NULL, 0);
    assert_non_null(comment);
    assert_string_equal(comment->value, texts[1].text);
    sws_freeContext(r.colours);
    av_frame_free(&r.frame);
    av_packet_free(&r.packet);
    avcodec_free_context(&r.codec);
    avformat_close_input(&r.file);
}

static void clips_are_read_back(void **state)
{
    dit_picture clip = some_clip();
    (void)state;
    for (int i = 0; i < DIT_CLIP_COUNT; i++) {
        const char *path = path_of(dit_clip_name((dit_clip_format)i));
        assert_ok(dit_clip_write(path, (dit_clip_format)i, &clip));
        read_clip(path, &clip);
    }
    assert_false(exists(path_of("mp4.part")));
}

static void what_cannot_be_written_leaves_nothing(void **state)
{
    dit_picture clip = some_clip();
    (void)state;
    assert_fails(dit_clip_write("/nonexistent/x.mp4", DIT_CLIP_MP4, &clip), DIT_ERR_IO, "/nonexistent");
    clip.width = WIDTH - 1;
    assert_fails(dit_clip_write(path_of("odd.mp4"), DIT_CLIP_MP4, &clip), DIT_ERR_SHAPE, "63 x 48");
    assert_false(exists(path_of("odd.mp4")));
}

#else

static void clips_are_read_back(void **state)
{
    dit_picture clip = some_clip();
    (void)state;
    assert_fails(dit_clip_write(path_of("x.mp4"), DIT_CLIP_MP4, &clip), DIT_ERR_UNSUPPORTED, "no libavcodec");
    assert_non_null(strstr(dit_error_last()->hint, "libavcodec-dev"));
}

static void what_cannot_be_written_leaves_nothing(void **state)
{
    (void)state;
    assert_fails(dit_clip_check(DIT_CLIP_WEBM), DIT_ERR_UNSUPPORTED, "ditbench-clip.so");
    assert_false(exists(path_of("x.mp4")));
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_go_both_ways),
        cmocka_unit_test(clips_are_read_back),
        cmocka_unit_test(what_cannot_be_written_leaves_nothing),
    };
    return cmocka_run_group_tests_name("clip", tests, make_folder, remove_folder);
}
