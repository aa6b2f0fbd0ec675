"""Form fields in the product's look: {{ field|control }}."""

from django import forms, template
from django.forms.boundfield import BoundField
from django.utils.safestring import SafeString

register = template.Library()


@register.filter
def control(field: BoundField) -> SafeString:
    """The field's own widget as an input of the design, whoever wrote the form; a box to tick keeps its look."""
    widget = field.field.widget
    if isinstance(widget, forms.CheckboxInput | forms.RadioSelect | forms.CheckboxSelectMultiple):
        return field.as_widget()
    classes = f"{widget.attrs.get('class', '')} in".split()
    return field.as_widget(attrs={"class": " ".join(dict.fromkeys(classes))})
