/* Files by all ranks: pieces that lie between each other's, the shared pointer, sizes, errors. Prints how many checks failed. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCKS 50
static int failures, rank, ranks;

static void check(int holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "rank %d: %s\n", rank, what);
        failures++;
    }
}

static int class_of(int code) {
    int class;
    MPI_Error_class(code, &class);
    return class;
}

/* Every rank has every so-manieth block of three numbers. */
static void interleaved(const char *name, int way) {
    MPI_File file;
    MPI_Datatype block, mine;
    MPI_Status status;
    MPI_Request request;
    int out[3 * BLOCKS], in[3 * BLOCKS], count;
    for (int i = 0; i < 3 * BLOCKS; i++)
        out[i] = 1000 * rank + i, in[i] = -1;
    MPI_Type_contiguous(3, MPI_INT, &block);
    MPI_Type_create_resized(block, 0, 3 * ranks * (MPI_Aint)sizeof(int), &mine);
    MPI_Type_commit(&mine);
    check(!MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file), "open");
    check(!MPI_File_set_size(file, 0), "set_size");
    check(!MPI_File_set_view(file, 3 * rank * (MPI_Offset)sizeof(int), MPI_INT, mine, "native", MPI_INFO_NULL), "set_view");
    if (way == 0)
        check(!MPI_File_write_all(file, out, 3 * BLOCKS, MPI_INT, &status), "write_all");
    else if (way == 1)
        check(!MPI_File_write_at(file, 0, out, 3 * BLOCKS, MPI_INT, &status), "write_at");
    else {
        check(!MPI_File_iwrite_at_all(file, 0, out, 3 * BLOCKS, MPI_INT, &request), "iwrite_at_all");
        MPI_Wait(&request, &status);
    }
    MPI_Get_count(&status, MPI_INT, &count);
    check(count == 3 * BLOCKS, "count written");
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    if (way == 0) {
        MPI_File_seek(file, 0, MPI_SEEK_SET);
        check(!MPI_File_read_all(file, in, 3 * BLOCKS, MPI_INT, &status), "read_all");
    } else if (way == 1) {
        check(!MPI_File_read_at_all_begin(file, 0, in, 3 * BLOCKS, MPI_INT), "read_at_all_begin");
        /* No other operation of all ranks runs at the same time. */
        char text[MPI_MAX_ERROR_STRING];
        int code = MPI_File_write_all(file, out, 0, MPI_INT, &status);
        check(class_of(code) == MPI_ERR_OTHER, "write_all beside read_at_all");
        MPI_Error_string(code, text, &count);
        check(strstr(text, "MPI_File_write_all:") && strstr(text, "MPI_File_read_at_all_end must come first"), text);
        check(class_of(MPI_File_iread_at_all(file, 0, in, 0, MPI_INT, &request)) == MPI_ERR_OTHER, "iread_at_all");
        check(class_of(MPI_File_write_ordered_begin(file, out, 0, MPI_INT)) == MPI_ERR_OTHER, "write_ordered_begin");
        check(class_of(MPI_File_sync(file)) == MPI_ERR_OTHER, "sync");
        check(class_of(MPI_File_set_size(file, 0)) == MPI_ERR_OTHER, "set_size of a file in use");
        check(class_of(MPI_File_read_all_end(file, in, &status)) == MPI_ERR_OTHER, "another end");
        check(!MPI_File_read_at(file, 0, in, 0, MPI_INT, &status), "a rank's own beside it");
        check(!MPI_File_read_at_all_end(file, in, &status), "read_at_all_end");
    } else
        check(!MPI_File_read_at(file, 0, in, 3 * BLOCKS, MPI_INT, &status), "read_at");
    MPI_Get_count(&status, MPI_INT, &count);
    check(count == 3 * BLOCKS && !memcmp(in, out, sizeof in), "what was read");
    /* Beyond the end there is nothing. */
    check(!MPI_File_read_at_all(file, 3 * BLOCKS - 2, in, 9, MPI_INT, &status), "read_at_all");
    MPI_Get_count(&status, MPI_INT, &count);
    check(count == 2, "count at the end");
    /* Without a view, all blocks in turn. */
    check(!MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), "whole view");
    int *all = malloc(3 * BLOCKS * ranks * sizeof(int));
    check(!MPI_File_read(file, all, 3 * BLOCKS * ranks, MPI_INT, &status), "read");
    for (int i = 0; i < 3 * BLOCKS * ranks; i++)
        if (all[i] != 1000 * (i / 3 % ranks) + i / 3 / ranks * 3 + i % 3) {
            check(0, "the file's order");
            break;
        }
    free(all);
    MPI_Offset size, at;
    MPI_File_get_size(file, &size);
    check(size == 3 * BLOCKS * ranks * (MPI_Offset)sizeof(int), "size");
    MPI_File_seek(file, -1, MPI_SEEK_END);
    MPI_File_get_position(file, &at);
    check(at == 3 * BLOCKS * ranks - 1, "position from the end");
    MPI_Type_free(&block);
    MPI_Type_free(&mine);
    check(!MPI_File_close(&file) && file == MPI_FILE_NULL, "close");
}

static void shared(const char *name) {
    MPI_File file;
    MPI_Status status;
    MPI_Offset at;
    int word[2], sum = 0, seen = 0, all;
    check(!MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file), "open");
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL);
    word[0] = word[1] = rank + 1;
    check(!MPI_File_write_ordered(file, word, 2, MPI_INT, &status), "write_ordered");
    MPI_File_get_position_shared(file, &at);
    check(at == 2 * ranks, "shared position");
    MPI_Barrier(MPI_COMM_WORLD);
    check(!MPI_File_seek_shared(file, 0, MPI_SEEK_SET), "seek_shared");
    for (int i = 0; i < 2; i++) {
        check(!MPI_File_read_shared(file, &seen, 1, MPI_INT, &status), "read_shared");
        sum += seen;
    }
    MPI_Allreduce(&sum, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    check(all == ranks * (ranks + 1), "each number was read once");
    unsigned char byte[4];
    MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    MPI_File_read_at(file, 0, byte, 4, MPI_BYTE, &status);
    check(byte[0] == 0 && byte[3] == 1, "external32 has the most significant byte first");
    MPI_File_close(&file);
    MPI_Barrier(MPI_COMM_WORLD);
    check(access(name, F_OK) != 0, "deleted on close");
}

/* Collectives with a wrong argument at one rank: that rank hears of it, and the others' parts are done. */
static void wrong(const char *name) {
    MPI_File file;
    MPI_Request request;
    MPI_Offset at = rank * (MPI_Offset)sizeof(int);
    int x = 50 + rank, y = -1, code, sign = rank ? 1 : -1;
    MPI_Datatype type = rank ? MPI_INT : MPI_DATATYPE_NULL;
    check(!MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
                         MPI_INFO_NULL, &file), "open");
    check(!MPI_File_set_size(file, 0), "set_size");
    code = MPI_File_write_at_all(file, at, &x, sign, MPI_INT, MPI_STATUS_IGNORE);
    check(rank ? !code : class_of(code) == MPI_ERR_COUNT, "a count below nothing at one rank");
    code = MPI_File_read_at_all(file, at, &y, 1, type, MPI_STATUS_IGNORE);
    check(rank ? !code && y == x : class_of(code) == MPI_ERR_TYPE, "a null type at one rank");
    y = -1;
    code = MPI_File_iread_at_all(file, at, &y, sign, MPI_INT, &request);
    check(rank ? !code && !MPI_Wait(&request, MPI_STATUS_IGNORE) && y == x : class_of(code) == MPI_ERR_COUNT,
          "a count below nothing at one rank, beside");
    code = MPI_File_write_ordered(file, &x, 1, type, MPI_STATUS_IGNORE);
    check(rank ? !code : class_of(code) == MPI_ERR_TYPE, "a null type at one rank, in order");
    code = MPI_File_read_at_all(file, at - (MPI_Offset)sizeof(int), &y, rank ? 1 : 0, MPI_INT, MPI_STATUS_IGNORE);
    check(!rank || (!code && y == x), "what was written in order");
    code = MPI_File_read_all_begin(file, &y, sign, MPI_INT);
    check(rank ? !code && !MPI_File_read_all_end(file, &y, MPI_STATUS_IGNORE) : class_of(code) == MPI_ERR_COUNT,
          "a count below nothing at one rank, in two calls");
    MPI_File_close(&file);
}

/* A view of nothing, as a darray of few rows has it for some ranks; whole etypes; one rank's mistake, of which all hear. */
static void views(const char *name) {
    MPI_File file;
    MPI_Datatype none, back;
    int x = 7, y = -1, code, lengths[] = {1, 1}, places[] = {1, 0};
    MPI_Type_contiguous(0, MPI_INT, &none);
    MPI_Type_commit(&none);
    MPI_Type_indexed(2, lengths, places, MPI_INT, &back);
    MPI_Type_commit(&back);
    check(!MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
                         MPI_INFO_NULL, &file), "open");
    check(!MPI_File_set_size(file, 0), "set_size");
    MPI_Offset at = rank * (MPI_Offset)sizeof x;
    check(!MPI_File_set_view(file, at, MPI_INT, rank ? none : MPI_INT, "native", MPI_INFO_NULL), "a view of nothing");
    check(!MPI_File_write_all(file, &x, rank == 0, MPI_INT, MPI_STATUS_IGNORE), "write_all of nothing");
    code = MPI_File_read_at_all(file, 0, &y, 1, MPI_INT, MPI_STATUS_IGNORE);
    check(rank ? class_of(code) == MPI_ERR_ARG : !code && y == 7, "read_at_all of a view of nothing");
    MPI_Request request;
    check(!MPI_File_iwrite_all(file, &x, rank == 0, MPI_INT, &request), "iwrite_all");
    check(!MPI_Wait(&request, MPI_STATUS_IGNORE), "wait of iwrite_all");
    MPI_File_iwrite_all(file, &x, rank == 0 ? 3 : 0, MPI_BYTE, &request);
    code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(rank ? !code : class_of(code) == MPI_ERR_ARG, "a part of an etype, in a wait");
    code = MPI_File_set_view(file, rank ? 0 : -5, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    check(class_of(code) == MPI_ERR_ARG, "a view that begins before the file at one rank");
    code = MPI_File_set_view(file, 0, MPI_INT, rank ? MPI_INT : back, "native", MPI_INFO_NULL);
    check(class_of(code) == MPI_ERR_IO, "a view that goes backwards at one rank");
    check(!MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), "set_view");
    code = MPI_File_write(file, &x, 3, MPI_BYTE, MPI_STATUS_IGNORE);
    check(class_of(code) == MPI_ERR_ARG, "a part of an etype");
    MPI_Type_free(&none);
    MPI_Type_free(&back);
    MPI_File_close(&file);
}

int main(int argc, char **argv) {
    MPI_File file;
    char name[200];
    int code;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    snprintf(name, sizeof name, "%s.%d", argc > 1 ? argv[1] : "files.data", ranks);
    for (int way = 0; way < 3; way++)
        interleaved(name, way);
    shared(name);
    views(name);
    wrong(name);
    code = MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    check(class_of(code) == MPI_ERR_NO_SUCH_FILE && file == MPI_FILE_NULL, "no such file");
    code = MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
    check(class_of(code) == MPI_ERR_AMODE, "a mode that cannot be");
    int all;
    MPI_Reduce(&failures, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d failures\n", all);
    MPI_Finalize();
    return failures != 0;
}
