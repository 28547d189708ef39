/* The library of clips, build/lib/ditbench-clip.so: MP4 and WebM by libavformat and libavcodec. It is no part of the engine,
 * which loads it when a clip is asked for (clip.c), because these libraries bring a hundred others. It takes base from the
 * program that loads it. */
#include "engine/files/clip_impl.h"

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/opt.h>
#include <libswscale/swscale.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4200 };

/* The codecs of a format, the usual one first. */
static const enum AVCodecID codecs[DIT_CLIP_COUNT][2] = {{AV_CODEC_ID_H264, AV_CODEC_ID_MPEG4},
                                                         {AV_CODEC_ID_VP9, AV_CODEC_ID_VP8}};

typedef struct {
    const dit_picture *picture;
    AVFormatContext *file;
    AVCodecContext *codec;
    AVStream *stream;
    AVFrame *frame;
    AVPacket *packet;
    struct SwsContext *colours;
} clip;

static const AVCodec *encoder_of(dit_clip_format format)
{
    const AVCodec *encoder = avcodec_find_encoder(codecs[format][0]);
    return encoder ? encoder : avcodec_find_encoder(codecs[format][1]);
}

static dit_status check(dit_clip_format format)
{
    if (encoder_of(format)) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "libavcodec has no encoder for %s here", dit_clip_name(format)),
                          "install a libavcodec with libx264 and libvpx, or write FILE.png, an animated PNG");
}

static dit_status tell(int code, const char *what)
{
    char problem[AV_ERROR_MAX_STRING_SIZE] = "";
    if (code >= 0) return DIT_OK;
    av_strerror(code, problem, sizeof problem);
    return DIT_FAIL(code == AVERROR(ENOMEM) ? DIT_ERR_MEMORY : DIT_ERR_IO, "%s: %s", what, problem);
}

static dit_status open_codec(clip *c, dit_clip_format format)
{
    const dit_picture *p = c->picture;
    const AVCodec *encoder = encoder_of(format);
    c->codec = avcodec_alloc_context3(encoder);
    if (!c->codec) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for an encoder");
    c->codec->width = (int)p->width, c->codec->height = (int)p->height;
    c->codec->pix_fmt = AV_PIX_FMT_YUV420P;
    c->codec->time_base = (AVRational){1, (int)p->frames_per_s};
    c->codec->framerate = (AVRational){(int)p->frames_per_s, 1};
    c->codec->thread_count = 1;
    c->codec->flags |= AV_CODEC_FLAG_BITEXACT;
    c->codec->colorspace = AVCOL_SPC_BT470BG, c->codec->color_range = AVCOL_RANGE_MPEG;
    if (c->file->oformat->flags & AVFMT_GLOBALHEADER) c->codec->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    av_opt_set(c->codec->priv_data, "crf", "16", 0); /* near what the eye can tell; codecs without it ignore it */
    return tell(avcodec_open2(c->codec, encoder, NULL), "cannot open the encoder");
}

static void describe(clip *c)
{
    for (int i = 0; i < c->picture->text_count; i++)
        if (strcmp(c->picture->texts[i].keyword, "ditbench.case") == 0)
            av_dict_set(&c->file->metadata, "comment", c->picture->texts[i].text, 0);
}

static dit_status open_clip(clip *c, const char *path, dit_clip_format format)
{
    DIT_TRY(tell(avformat_alloc_output_context2(&c->file, NULL, dit_clip_name(format), path), "cannot open a clip"));
    c->file->flags |= AVFMT_FLAG_BITEXACT;
    DIT_TRY(open_codec(c, format));
    c->stream = avformat_new_stream(c->file, NULL);
    c->frame = av_frame_alloc();
    c->packet = av_packet_alloc();
    if (!c->stream || !c->frame || !c->packet) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a clip");
    c->stream->time_base = c->codec->time_base;
    c->frame->format = c->codec->pix_fmt, c->frame->width = c->codec->width, c->frame->height = c->codec->height;
    DIT_TRY(tell(avcodec_parameters_from_context(c->stream->codecpar, c->codec), "cannot describe the clip"));
    DIT_TRY(tell(av_frame_get_buffer(c->frame, 0), "no frame"));
    c->colours = sws_getContext(c->codec->width, c->codec->height, AV_PIX_FMT_RGB24, c->codec->width, c->codec->height,
                                c->codec->pix_fmt, SWS_BICUBIC | SWS_ACCURATE_RND, NULL, NULL, NULL);
    if (!c->colours) return DIT_FAIL(DIT_ERR_MEMORY, "no memory to convert colours");
    describe(c);
    DIT_TRY(tell(avio_open(&c->file->pb, path, AVIO_FLAG_WRITE), path));
    return tell(avformat_write_header(c->file, NULL), "cannot begin the clip");
}

/* Gives the encoder a frame, or NULL at the end, and writes what it gives back. */
static dit_status encode(clip *c, AVFrame *frame)
{
    DIT_TRY(tell(avcodec_send_frame(c->codec, frame), "cannot encode a frame"));
    for (;;) {
        int code = avcodec_receive_packet(c->codec, c->packet);
        if (code == AVERROR(EAGAIN) || code == AVERROR_EOF) return DIT_OK;
        DIT_TRY(tell(code, "cannot encode a frame"));
        c->packet->stream_index = c->stream->index;
        av_packet_rescale_ts(c->packet, c->codec->time_base, c->stream->time_base);
        if (c->packet->duration == 0) c->packet->duration = av_rescale_q(1, c->codec->time_base, c->stream->time_base);
        DIT_TRY(tell(av_interleaved_write_frame(c->file, c->packet), "cannot write a frame"));
    }
}

static dit_status write_frames(clip *c)
{
    const dit_picture *p = c->picture;
    for (int64_t i = 0; i < p->frames; i++) {
        const uint8_t *rgb = p->rgb + i * p->height * p->width * 3;
        const int stride = (int)p->width * 3;
        DIT_TRY(tell(av_frame_make_writable(c->frame), "no frame"));
        sws_scale(c->colours, &rgb, &stride, 0, (int)p->height, c->frame->data, c->frame->linesize);
        c->frame->pts = i;
        DIT_TRY(encode(c, c->frame));
    }
    DIT_TRY(encode(c, NULL));
    DIT_TRY(tell(av_write_trailer(c->file), "cannot end the clip"));
    return tell(avio_closep(&c->file->pb), "cannot close the clip");
}

static void close_clip(clip *c)
{
    sws_freeContext(c->colours);
    av_frame_free(&c->frame);
    av_packet_free(&c->packet);
    avcodec_free_context(&c->codec);
    if (c->file && c->file->pb) avio_closep(&c->file->pb);
    avformat_free_context(c->file);
}

static dit_status write_clip(const char *path, dit_clip_format format, const dit_picture *picture)
{
    char part[PATH_BYTES];
    clip c = {.picture = picture};
    DIT_TRY(check(format));
    if (picture->width % 2 || picture->height % 2 || picture->width < 2 || picture->height < 2 ||
        picture->width > 1 << 14 || picture->height > 1 << 14)
        return dit_error_hint(DIT_FAIL(DIT_ERR_SHAPE, "a clip of %lld x %lld pixels cannot be written as %s",
                                       (long long)picture->width, (long long)picture->height, dit_clip_name(format)),
                              "its sides must be even, and at most 16384; FILE.png takes any");
    if (snprintf(part, sizeof part, "%s.part", path) >= (int)sizeof part)
        return DIT_FAIL(DIT_ERR_IO, "the path of the clip is too long");
    av_log_set_level(AV_LOG_QUIET);
    dit_status st = open_clip(&c, part, format);
    if (st == DIT_OK) st = write_frames(&c);
    close_clip(&c);
    if (st == DIT_OK && rename(part, path) != 0)
        st = DIT_FAIL(DIT_ERR_IO, "cannot move %s to %s: %s", part, path, strerror(errno));
    if (st != DIT_OK) unlink(part);
    return st;
}

const dit_clip_ops dit_clip_library = {check, write_clip};
