/* The plug-in of hybrid.c: what a breakpoint that is wanted in a dlopened library looks like. */
void material_prepare(double wanted);
double material_conduct(double left, double middle, double right);

static double conductivity = 0.1;

/* Called once a rank, soon after the plug-in was loaded: a breakpoint here must be planted in time. */
void material_prepare(double wanted)
{
    conductivity = wanted;
}

double material_conduct(double left, double middle, double right)
{
    return middle + conductivity * (left - 2 * middle + right);
}
