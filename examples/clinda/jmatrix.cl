/* Multiplies two symmetric matrices with workers that take rows and columns from the space: the computing benchmark of J. L. Christian,
 * "From Two Packets to One: Increasing the Performance of Linda-LAN" (M.S. report, Virginia Tech, 1997), appendix A.
 *
 *     quintet clc jmatrix.cl -o jmatrix
 *     quintet run -n 5 ./jmatrix 30 5      # dimension, workers */

#include <stdio.h>
#include <stdlib.h>

#define TRUE 1
#define FALSE 0
#define FAIL 0
#define MAX_DIM 100

#define ROW "row"
#define COLUMN "column"
#define TASK "task"
#define DIM "dimension"
#define RESULT "result"

int worker(int worker_num);

void real_main(int argc, char *argv[])
{
    char buff[80];
    int column;
    int dimension;
    int num_results;
    int num_workers;
    int result;
    int row;
    int val[2 * MAX_DIM];
    int x;

    if (argc != 3 || atoi(argv[1]) < 1 || atoi(argv[1]) > MAX_DIM || atoi(argv[2]) < 1) {
        fprintf(stderr, "usage: jmatrix DIMENSION WORKERS, with a dimension of 1 to %d\n", MAX_DIM);
        exit(64);
    }

    /* how many workers, and how large the matrices are */
    dimension = atoi(argv[1]);
    num_workers = atoi(argv[2]);

    fprintf(stderr,"eval() %d workers\n",num_workers);

    for ( x = 1; x <= num_workers; x++ )
        eval(worker(x));

    /* both matrices have at (i, j) the value i + j + 2 */
    for ( x = 0; x < (2*dimension); x++ )
        val[x] = x + 2;

    fprintf(stderr,"out() %d dimension matrix\n",dimension);

    for ( x = 0; x < dimension; x++ )
        {
            out(ROW,x,&val[x]:dimension);
            out(COLUMN,x,&val[x]:dimension);
        }

    fprintf(stderr,"out() multiplication tasks\n");

    for ( row = 0; row < dimension; row++ )
        for ( column = 0; column < dimension; column++ )
            out(TASK,row,column);

    /* the workers wait for this */
    fprintf(stderr,"starting workers\n");

    out(DIM,dimension);

    start_timer();

    num_results = dimension * dimension;

    for ( x = 0; x < num_results; x++ )
        {
            in(RESULT,?row,?column,?result);
            fprintf(stderr,"result(%d,%d) = %d\n",row,column,result);
        }

    sprintf(buff,"dim - %d, workers - %d",dimension,num_workers);
    timer_split(buff);
    print_times();
}

/* Multiplies rows by columns as long as there are tasks. It returns nothing: its tuple has 0. */
int worker(int worker_num)
{
    int col[MAX_DIM];
    int col_index;
    int dimension;
    int result;
    int row[MAX_DIM];
    int row_index;
    int x;
    int xit;

    xit = FALSE;

    rd(DIM,?dimension);

    fprintf(stderr,"worker %d started\n",worker_num);

    while ( !xit )
    {
        result = inp(TASK,?row_index,?col_index);

        if ( result == FAIL )
            xit = TRUE;
        else
        {
            rd(ROW,row_index,?row:dimension);
            rd(COLUMN,col_index,?col:dimension);

            result = 0;

            for ( x = 0; x < dimension; x++ )
                result += row[x] * col[x];

            out(RESULT,row_index,col_index,result);
        }
    }
}
