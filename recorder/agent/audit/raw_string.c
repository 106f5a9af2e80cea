/* String functions of shared sources, where no C library has them. */
#include <stddef.h>

size_t strlen(const char *text);
char *strchr(const char *text, int character);
char *strchrnul(const char *text, int character);
size_t strspn(const char *text, const char *accepted);
char *strstr(const char *text, const char *wanted);

size_t strlen(const char *text)
{
    size_t length = 0;
    while (text[length] != '\0')
        length++;
    return length;
}

char *strchrnul(const char *text, int character)
{
    while (*text != '\0' && *text != (char)character)
        text++;
    return (char *)text;
}

char *strchr(const char *text, int character)
{
    char *found = strchrnul(text, character);
    return *found == (char)character ? found : NULL;
}

size_t strspn(const char *text, const char *accepted)
{
    size_t length = 0;
    while (text[length] != '\0' && strchr(accepted, text[length]) != NULL)
        length++;
    return length;
}

char *strstr(const char *text, const char *wanted)
{
    for (;; text++) {
        size_t i = 0;
        while (wanted[i] != '\0' && text[i] == wanted[i])
            i++;
        if (wanted[i] == '\0')
            return (char *)text;
        if (*text == '\0')
            return NULL;
    }
}
