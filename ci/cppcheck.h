/* What cppcheck must know of headers it is not given: without these it cannot read past the macro. */
#define cJSON_ArrayForEach(element, array)                                                                             \
    for (element = (array) ? (array)->child : NULL; element; element = element->next)
