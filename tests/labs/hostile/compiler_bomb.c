/* A program of 64 GiB, after much work for the preprocessor. */
#define A "0123456789012345678901234567890123456789012345678901234567890123"
#define B A A A A A A A A A A A A A A A A
#define C B B B B B B B B B B B B B B B B
#define D C C C C C C C C C C C C C C C C
#define E D D D D D D D D D D D D D D D D
#define F E E E E E E E E E E E E E E E E
#define G F F F F F F F F F F F F F F F F
#define H G G G G G G G G G G G G G G G G
const char *all = H H H H H H H H;
char more[1UL << 36] = {1};
int main(void)
{
    return all[0];
}
