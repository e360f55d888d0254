// The server's program: all it does lies in the runtime that it is linked to.
extern "C" int paged_serve();

int main() { return paged_serve(); }
