/* A second file with a static function of a name that image_material.c has, too. */
int tgm_second(int x);

static int __attribute__((noinline)) tgm_static(int x)
{
    return x * 5;
}

int tgm_second(int x)
{
    return tgm_static(x) + 2;
}
