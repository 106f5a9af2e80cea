/* The plug-in of hybrid.c: what a breakpoint that is wanted in a dlopened library looks like. */
double material_conduct(double left, double middle, double right);

double material_conduct(double left, double middle, double right)
{
    return middle + 0.2 * (left - 2 * middle + right);
}
