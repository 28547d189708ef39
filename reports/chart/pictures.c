#include "reports/chart/chart.h"

#include <stdlib.h>

void chart_pictures_release(chart_pictures *pictures)
{
    free(pictures->wide);
    free(pictures->narrow);
    *pictures = (chart_pictures){NULL, NULL};
}
